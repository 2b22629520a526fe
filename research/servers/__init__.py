"""Servers for other programs: the MCP server, and the gateway that records their agents.

May import `workbench`, `exports` and what is below them."""

"""Servers for other programs: the MCP server.

May import `workbench`, `exports` and what is below them."""

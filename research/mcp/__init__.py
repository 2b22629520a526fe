"""The client of the Model Context Protocol (https://modelcontextprotocol.io/specification): servers' tools for our runs.

May import `prompts`, `sandbox`, `web`, `_util`, `types`, `text` and `errors`."""

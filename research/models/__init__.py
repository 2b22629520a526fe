"""Language models: a file or package per provider, and their common parts: SDKs, failures, assembly, prices, tokens.

May import `search`, `plugins`, `protocols`, `config`, `store` and what is below them."""

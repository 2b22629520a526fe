"""Tools that a model can call, one file each.

May import `plugins`, `events`, `search`, `web`, `memory`, `sandbox`, `config` and what is below them."""

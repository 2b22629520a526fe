"""One agent working on one question: `Run`, its requests to models and tools, its journal, its budget and its ending.

May import `events`, `memory`, `models`, `web`, `plugins` and what is below them."""

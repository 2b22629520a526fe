"""llama.cpp in this process: reading and loading a GGUF file, and the form of requests and replies.

May import `_util`, `types`, `text` and `errors`."""

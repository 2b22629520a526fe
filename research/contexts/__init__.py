"""Context strategies, one file each: they turn a transcript into the messages that the model sees.

May import `agent`, `events`, `plugins`, `types`, `text` and `errors`."""

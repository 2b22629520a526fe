"""Context strategies: from what happened to the messages that the model sees.  One file each."""

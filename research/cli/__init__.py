"""The command line: one file per command, which declares its arguments and runs it, and what they share.

May import everything else.  `--help` imports every file here, so each imports its room when it runs."""

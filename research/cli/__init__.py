"""The command line: what each command does, one file for each group of them."""

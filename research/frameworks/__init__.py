"""The policies of the loop, one file each."""

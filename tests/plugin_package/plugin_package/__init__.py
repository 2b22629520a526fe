"""A plug-in of each kind, as a stranger's package would have them."""

"""The Library page: collections, documents, search, and adding folders and files.

May import `shared`."""

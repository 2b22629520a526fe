"""The Memory page: searching, filtering, mapping, writing and exporting entries.

May import `shared`."""

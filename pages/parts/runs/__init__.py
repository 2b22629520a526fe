"""The Runs page: its filters, table, totals, imports, and the tree of related runs.

May import `shared` and `run`."""

"""The Compare page: its form, the columns side by side, and earlier comparisons.

May import `shared`, `library` and `run`."""

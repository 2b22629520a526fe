"""The Metrics page: its filters, figures and charts.

May import `shared`."""

"""The Settings page: services and their tests, defaults, data and system.

May import `shared`."""

"""Settings, saved settings and users.

May import `store` and what is below it."""

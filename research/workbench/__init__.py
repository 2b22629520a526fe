"""An open home folder that connects all parts: recipes, presets, estimates, imported runs, doctor and health checks.

May import everything except `compare`, `exports`, `evaluation`, `servers` and `cli`."""

"""The Evaluate page: choosing questions and recipes, the results, their charts, and earlier evaluations.

May import `shared`, `library` and `run`."""

"""The question that the pages and `--help` show as an example."""

EXAMPLE_QUESTION = (
    "What was France's real GDP (purchasing power parity) in 2024, and by how much did it grow compared with 2023?"
)
"""Answered offline, from the World Factbook that comes with the package."""

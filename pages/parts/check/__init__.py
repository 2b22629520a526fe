"""The parts of the page Check a report."""

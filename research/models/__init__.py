"""Language models, one class per file: each streams deltas and then one completion, and classifies its own failures."""

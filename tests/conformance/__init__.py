"""How real model services behave, played by servers on loopback: one behaviour each, by its id in docs/conformance.md."""

"""The Model Context Protocol, both ways: tools of other people's servers for our runs, and our runs as tools for others.

Specification: https://modelcontextprotocol.io/specification
"""

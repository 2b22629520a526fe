"""Reads a report that someone else wrote: its statements, what each cites, and what became of that.

May import events, citations and web; the framework of that name reads the sources and judges.
"""

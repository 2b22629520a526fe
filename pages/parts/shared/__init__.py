"""Pieces that several pages use: login, page address, language, wording, safe Markdown, undo.

May import no other folder of `pages.parts`."""

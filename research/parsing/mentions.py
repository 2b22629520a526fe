"""Whether a call is part of running text: the sentence around it then quotes it, forbids it or gives it as an example.

A refusal costs one more request, a wrong call cannot be undone; so whatever is doubtful counts as a mention.
"""

from __future__ import annotations

import re

_WITHIN = re.compile(r"[^\s>.!?…。！？][ \t]*\Z")
"""Text before a call on its line that neither ends with a tag nor is a whole sentence."""
_BEHIND = re.compile(r"\s*(?!<)\S")
"""Text behind a call that is no tag."""
_WINDOW = 40
"""Characters before a call that are looked at."""


def mentioned(text: str, start: int, end: int) -> bool:
    """Return whether the call from `start` to `end` is part of a sentence, or more text follows it."""
    return bool(_WITHIN.search(text[max(0, start - _WINDOW) : start]) or _BEHIND.match(text, end))

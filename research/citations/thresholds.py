"""When the rules say a verdict: one table, with the measurement that set it.

Ticks that are right, of all ticks: FEVER-symmetric dev 61 of 64, WiCE dev 1 of 1, `claims_held` 5 of 5, written prose
27 of 27, Factbook 439 of 443.  Crosses: 3 of 3, none, 23 of 24, 41 of 41, 342 of 346.  The counts of all these
sets were in view when the values were chosen.  `python -m bench.citations` measures again.
"""

from __future__ import annotations

SUPPORTED = {
    "label words with figure": 0.3,
    "label words": 0.5,
    "verbatim": 0.95,
    "figures": 0.3,
    "meaning": 0.8,
}
"""The least value of each kind of support.

Label words: share of the claim's words in the labelled line (`Area, total: 12 sq km`) that has its figure, or its name.
Verbatim, figures: share of the claim's words that one sentence has in the same order, without and with figures that agree.
Meaning: cosine of claim and sentence.
"""

CONTRADICTED = {
    "opposite": 0.65,
    "opposite figure": 0.65,
    "reversed": 0.65,
    "denied": 0.65,
    "year": 0.65,
    "owner": 0.65,
    "measure": 0.65,
    "figure": 0.65,
    "sign": 0.65,
    "comparison": 0.0,
    "label words": 0.5,
}
"""The share of the claim's words that one sentence must have in the same order for a difference of each kind to count.

Differences of other kinds (another subject, a missing hedge, `all` for `some`) never suffice in prose.
"""

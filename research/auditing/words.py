"""The words for verdicts and for the states of links; `say` translates them."""

from __future__ import annotations

from collections.abc import Mapping

from research.events.audit_findings import LinkState, TrialVerdict

VERDICTS: Mapping[TrialVerdict, str] = {
    "supported": "supported",
    "calculated": "follows by calculation",
    "partial": "partly supported",
    "contradicted": "contradicted",
    "unsupported": "not supported",
    "unverified": "undecided",
    "not_checkable": "not checkable",
    "no_source": "no source",
}
STATES: Mapping[LinkState, str] = {
    "reachable": "reachable",
    "redirected": "redirected",
    "gone": "gone",
    "blocked": "blocked",
    "paywalled": "behind a paywall",
    "unreachable": "no answer",
    "unreadable": "unreadable",
    "other_work": "not the cited work",
    "refused": "not opened",
    "not_found": "not found",
    "not_listed": "missing from the reference list",
    "not_asked": "not looked for",
}

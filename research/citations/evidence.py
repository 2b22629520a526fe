"""Collect the evidence for and against a claim about prose: its alignment with one sentence, and what differs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from research.citations.alignment import Alignment, Token, aligned, tokens_of
from research.citations.lexicon import negated
from research.citations.names import Names
from research.citations.reading import Sentence

RESERVED = re.compile(
    r"\b(?:may(?! \d)|might|could|would|should|possibl[ey]|perhaps|maybe|probabl[ey]|likely|unlikely|potential(?:ly)?|"
    r"suggest\w*|appear(?:s|ed|ing)? to|seem\w*|apparently|reported(?:ly)?|alleg\w+|suspect\w*|thought|believ\w+|"
    r"claim\w*|argu(?:e[sd]?|ing)|propos\w+|plan(?:s|ned|ning)?|hope[sd]?|intend\w*|expect\w*|consider\w*|wish\w*|"
    r"according to|said|says?|stat(?:es|ed)|hold(?:s|ing)? that|held that|told|testified|recommend\w*|ask(?:s|ed)?|want\w*|"
    r"aim(?:s|ed)?|tr(?:y|ies|ied)|attempt\w*|refus\w+|offer(?:s|ed)?|promis\w+|threaten\w*|deni(?:es|ed)|deny|"
    r"if|unless|whether|rumou?r\w*|legend|supposed\w*|estimat\w+|forecast\w*|predict\w*|assum\w+|will|"
    r"unclear|unconfirmed|disput\w+|question\w*|doubt\w*|except|failed|almost|nearly|hardly|barely)\b|"
    r"可能|或许|也许|疑|似乎|据称|据说|据|推测|认为|主张|提出|建议|计划|拟|预计|预期|有望|希望|考虑|称|表示|如果|若|"
    r"是否|除非|估计|打算|试图|拒绝|尚|几乎|差点|未必|除"
)
"""Words that make a statement less than a plain assertion of its writer: hedges, plans, reports, conditions."""
STRICT = re.compile(
    r"\b(?:all|every\w*|only|sole(?:ly)?|exclusively|most(?:ly)?|majority|none|no|never|always|first|last|both|each|"
    r"entire(?:ly)?|whole|throughout|largest|best|worst|(?!honest|interest|forest|west|east|rest|test|guest|request|"
    r"protest|arrest|harvest|invest)[a-z]{2,}est|more|less|fewer|than|again|still|already|yet|because|therefore|"
    r"after|before|until|since|while|when|despite|by|from|against|without|exactly|many|few|some|several|any|half|"
    r"unanimous\w*|immediately|same|different|instead|alone|ever|unique)\b|"
    r"所有|全部|全都|都|一切|只|仅|唯一|最|首|大部分|大多|多数|没有|从未|总|先|后|因|之前|之后|以前|以后|已|再|仍|更|"
    r"比|被|由|从|每|均|均为|各|若干|部分|一些|一半|直到|除"
)
"""Words that change what is claimed although they look small; those of a claim must be in its source."""
_PRONOUN = re.compile(
    r"^\W*(?:(?:in|on|by|at|from|after|before|since|during|until) [^,]{1,40}, )?"
    r"(?:he|she|it|they|its|his|her|their|the [a-z]+)\b|^\W*(?:他|她|它|该|其)",
    re.I,
)
_CUT = re.compile(
    r"[;；。—]|\s[-–]\s|[,，](?!\d)|\b(?:and|but|while|whereas|although|though|because|after|before|when|who|whose|which|that|"
    r"where|against|by|for|like|unlike)\b|而(?!且)|但|由|被"
)


_PASSIVE = re.compile(
    r"^(?P<what>[^,;]+?) (?:is|are|was|were|has been|have been|had been) (?:\w+ly )?"
    r"(?P<verb>[a-z]+(?:ed|en|ung|ought|ound|old|ade|eld|ent|id|un|ut)) by "
    r"(?P<by>[^,;]+?)(?P<rest>(?: (?:in|on|at|for|to|after|before|because|from|until|during|with) .*|[,;.].*)?)$"
)


class Evidence(Struct, frozen=True):
    """What speaks for a claim, and what differs from the sentence of the source that is closest to it."""

    line: Sentence
    alignment: Alignment
    missing: tuple[Token, ...]
    """Words of the claim that neither the sentence nor, for the subject, its context has."""
    borrowed: int
    """Words of the claim that only the context of the sentence has."""
    moved: int
    """Words that both have, in another order."""
    strict: frozenset[str]
    """Words such as `all`, `first` and `before` that only the claim has."""
    reserved: frozenset[str]
    """Words such as `may` and `said` that only the sentence has."""
    denied: bool
    """One of the two has a negation that the other lacks."""
    crossed: bool
    """The words left out contain another name and the start of another clause."""
    subject: bool
    """The claim's subject is the sentence's, or a pronoun's there."""

    @property
    def share(self) -> float:
        """The share of the claim's words that the sentence has in the same order."""
        return 1 - len(self.missing) / max(self.alignment.size, 1)


def gather(names: Names, claim: Sentence, lines: Sequence[Sentence]) -> Evidence | None:
    """Return the evidence of the sentence that has most of the claim's words in order; None if none has any."""
    best: Evidence | None = None
    for line in lines:
        if line.cjk != claim.cjk:
            continue
        for mine in dict.fromkeys((claim.text, active(claim.text))):
            for theirs in dict.fromkeys((line.text, active(line.text))):
                found = aligned(mine, theirs)
                if not found.pairs:
                    continue
                each = _evidence(names, mine, line, theirs, found)
                if best is None or _rank(each) > _rank(best):
                    best = each
    return best


def _rank(each: Evidence) -> tuple[float, int]:
    return each.share, -len(each.alignment.skipped)


def _evidence(names: Names, claim: str, line: Sentence, text: str, found: Alignment) -> Evidence:
    theirs = {token.form for token in tokens_of(text)}
    around = tokens_of(line.context)
    context = {token.form for token in around}
    first = found.pairs[0][0].start
    missing, borrowed, moved = [], 0, 0
    for token in found.extra:
        if token.quantity is None and token.form in theirs:
            moved += 1
            missing.append(token)
        elif token.quantity is None and token.form in context and token.start < first:
            borrowed += 1
        else:
            missing.append(token)
    return Evidence(
        line=line,
        alignment=found,
        missing=tuple(missing),
        borrowed=borrowed,
        moved=moved,
        strict=_words(STRICT, claim) - _words(STRICT, text),
        reserved=_words(RESERVED, text) - _words(RESERVED, claim),
        denied=negated(claim) != negated(text),
        crossed=_crossed(found, text),
        subject=not borrowed or bool(_PRONOUN.match(line.text)) or bool(line.label),
    )


def active(text: str) -> str:
    """Return a passive sentence in the active voice, `A was bought by B in 2011` as `B bought A in 2011`; else as it is."""
    match = _PASSIVE.match(text)
    return f"{match['by']} {match['verb']} {match['what']}{match['rest']}" if match else text


def _words(pattern: re.Pattern[str], text: str) -> frozenset[str]:
    found = (match.group().lower() for match in pattern.finditer(text))
    return frozenset("may" if word in ("might", "could") else word for word in found)


def _crossed(found: Alignment, text: str) -> bool:
    """Return whether two neighbours of the claim are in different clauses of the sentence, with words between."""
    for (_, one), (_, two) in zip(found.pairs, found.pairs[1:], strict=False):
        between = text[one.start + len(one.text) : two.start]
        if _CUT.search(between) and any(one.start < token.start < two.start for token in found.skipped):
            return True
    return False

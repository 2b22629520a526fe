"""Collect the evidence for and against a claim about prose: its alignment with one sentence, and what differs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from research.citations.alignment import Alignment, Token, aligned, tokens_of
from research.citations.lexicon import WEAK, negated, sides
from research.citations.names import Names
from research.citations.reading import Sentence
from research.citations.relations import IRREGULAR
from research.text import has_cjk

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
    r"(?:he|she|it|they|its|his|her|their)\b|^\W*(?:[^，]{2,12}，)?(?:他|她|它|该|其(?!中))",
    re.I,
)
_SUBJECT = re.compile(r"\b(?:he|she|it|they)(?: (?:was|were|is|are|had|has|have|would|also))*\s*$", re.I)
"""Matches a pronoun right before the first word that the claim takes from the sentence: `when it` struck."""
_DEFINITE = re.compile(
    r"^\W*(?:(?:in|on|by|at|from|after|before|since|during|until) [^,]{1,40}, )?"
    r"the (?:company|firm|group|club|team|band|party|bank|agency|organi[sz]ation|institute|foundation|school|college|"
    r"university|museum|library|town|city|village|country|island|river|lake|building|house|bridge|tower|church|ship|vessel|"
    r"film|book|novel|play|album|song|work|study|programme|project|writer|author|artist|scientist|player)\b",
    re.I,
)
"""Matches a noun that refers to what the title names; `the bishop` refers to somebody else."""
_EMPTY = WEAK | frozenset("people person persons inhabitants residents 人 名 we our us you your i my".split())
"""Words that a claim may add: nouns for what a bare figure counts (`84 million people`), and pronouns of the speaker."""
_NAMES = re.compile(r"[A-Z][\w’'-]{1,40}(?: [A-Z][\w’'-]{1,40})+")
_CUT = re.compile(
    r"[;；。—]|\s[-–]\s|[,，](?!\d)|\b(?:and|but|while|whereas|although|though|because|after|before|when|who|whose|which|that|"
    r"where|against|by|for|like|unlike)\b|而(?!且)|但|由|被"
)
_CLAUSE = re.compile(
    r"[;；。—]|\s[-–]\s|[,，](?! ?\d)|\band\b(?! \d)|"
    r"\b(?:but|while|whereas|although|though|because|when|who|whose|which|that|where)\b|而(?!且)|但"
)
_BRACKETS = re.compile(r"[(（][^()（）]{0,300}[)）]|-LRB-.{0,300}?-RRB-")
_PASSIVE = re.compile(
    r"(?P<when>(?:in|on|at|by) [^,;]{1,30}, )?"
    r"(?P<what>[^,;:]{1,200}?),? (?:is|are|was|were|has been|have been|had been) (?:\w{1,30}ly )?"
    rf"(?P<verb>[a-z]{{1,30}}ed|{'|'.join(sorted(IRREGULAR))})(?P<particle> (?:for|on|at|upon|of|up|down|out|over|off))?"
    r"(?P<then> (?:in|on) [^,;]{1,20}?)? by "
    r"(?P<by>[^,;]{1,200}?)(?P<rest>(?: (?:in|on|at|for|to|after|before|because|from|until|during|with|and|but|while|who|"
    r"which)\b [^;]{0,300}|[,;.].{0,300})?)$",
    re.I,
)
_PASSIVE_ZH = re.compile(r"(?P<what>[^，,。；]{0,300}?)(?:被|由)(?!于|此)(?P<rest>[^，,。；]{3,})")
_NEXT = re.compile(r"[;；。]|[,，](?! ?\d)")
_START = re.compile(r"[,;:] |\b(?:and|but|while|whereas) ")


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
    rebound: bool
    """A word of the claim follows words left out of its own clause, which may bind it to something else."""
    subject: bool
    """The claim's subject is the sentence's, or a pronoun's there."""
    added: bool = False
    """The claim replaces a word of the sentence, or adds words before or after it."""
    turned: bool = False
    """One of the two was turned from the passive voice."""

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
        for mine in voices(claim.text):
            for theirs in voices(line.text):
                found = aligned(mine, theirs)
                if not found.pairs:
                    continue
                each = _evidence(names, mine, line, theirs, found)
                turned = (mine, theirs) != (claim.text, line.text)
                if turned and not each.subject:  # the sentence has another agent
                    continue
                each = replace(each, turned=turned)
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
        denied=negated(claim) != negated(_reached(found, text)),
        crossed=_crossed(found, text),
        rebound=_rebound(found, text),
        subject=not borrowed or bool(line.label) or _refers(claim[:first], line, text[: found.pairs[0][1].start]),
        added=_added(found, missing, text) or _disordered(found, missing, text),
    )


def _refers(subject: str, line: Sentence, before: str) -> bool:
    """Return whether a sentence refers to the claim's subject by a pronoun, or by a noun such as `the company`.

    Several names in a row must be one name in the context: one person's first name does not fit another's surname.
    """
    context = line.context.casefold()
    if any(name.casefold() not in context for name in _NAMES.findall(subject)):
        return False
    if _SUBJECT.search(before) or _PRONOUN.match(line.text):
        return True
    title = {token.form for token in tokens_of(line.title)}
    return bool(_DEFINITE.match(line.text)) and all(token.form in title for token in tokens_of(subject))


def _added(found: Alignment, missing: Sequence[Token], text: str) -> bool:
    """Return whether the claim replaces a word of the sentence, or adds words before or after it."""
    partner = {mine.start: theirs for mine, theirs in found.pairs}
    claimed = sorted([*(mine for mine, _ in found.pairs), *found.extra], key=lambda token: token.start)
    theirs = tokens_of(text)
    for token in missing:
        if token.quantity or token.text in _EMPTY:
            continue
        place = claimed.index(token)
        before = [partner[each.start] for each in claimed[:place] if each.start in partner]
        after = [partner[each.start] for each in claimed[place:] if each.start in partner]
        low, high = before[-1].start if before else -1, after[0].start if after else len(text)
        gap = [each for each in theirs if low < each.start < high and not each.quantity]
        if any(sides(token.text) & sides(each.text) for each in gap):
            continue
        beside = [claimed[each] for each in (place - 1, place + 1) if 0 <= each < len(claimed)]
        longer = token.name and any(each.start in partner and (each.name or not each.start) for each in beside)
        if longer and not any(each.name for each in gap):  # Yale University for Yale
            continue
        if gap or not (before and after):
            return True
    return False


def _disordered(found: Alignment, missing: Sequence[Token], text: str) -> bool:
    """Return whether two figures with the same unit have changed places."""
    pairs = [(a, b) for a, b in found.pairs if a.quantity and b.quantity]
    for token in missing:
        for seen in tokens_of(text):
            if token.quantity and seen.quantity and token.quantity.states(seen.quantity):
                kind = (token.quantity.kind, token.quantity.unit)
                alike = [(a, b) for a, b in pairs if a.quantity and (a.quantity.kind, a.quantity.unit) == kind]
                if any((a.start < token.start) != (b.start < seen.start) for a, b in alike):
                    return True
    return False


def voices(text: str) -> list[str]:
    """Return a sentence and, for each of its passive clauses, the clause in the active voice.

    `A was bought by B in 2011` becomes `B bought A in 2011`, and 甲被乙收购 becomes 乙收购甲.
    """
    found = [text]
    if has_cjk(text):
        passive = _PASSIVE_ZH.finditer(text)
        return [*found, *(f"{each['rest']}{each['what'] or _CLAUSE.split(text)[0]}" for each in passive)]
    for start in (0, *(cut.end() for cut in _START.finditer(text))):
        if match := _PASSIVE.match(text, start):
            head, particle, then = (match[part] or "" for part in ("when", "particle", "then"))
            found.append(f"{head}{match['by']} {match['verb']}{particle} {match['what']}{then}{match['rest']}")
    return list(dict.fromkeys(found))


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


def _reached(found: Alignment, text: str) -> str:
    """Return a sentence without the clauses behind the last word that the claim has, too."""
    last = found.pairs[-1][1]
    end = _NEXT.search(text, last.start + len(last.text))
    return text[: end.start()] if end else text


def _rebound(found: Alignment, text: str) -> bool:
    """Return whether two neighbours of the claim are in different clauses, and the second does not begin its own.

    `Designed by A and built by B` does not state `designed by B`; but `A was born in C and lived in D`, `A lived in D`.
    Without a verb, the second is only another item (`a French and later Swiss painter`).
    """
    plain = _BRACKETS.sub(lambda match: " " * len(match.group()), text)
    for (_, one), (_, two) in zip(found.pairs, found.pairs[1:], strict=False):
        cuts = [cut.end() for cut in _CLAUSE.finditer(plain, one.start + len(one.text), two.start)]
        between = [token for token in found.skipped if cuts and cuts[-1] <= token.start < two.start]
        if between and (has_cjk(text) or any(map(_verbal, (*between, two)))):
            return True
    return False


def _verbal(token: Token) -> bool:
    return not token.name and (token.text.endswith("ed") or token.text in IRREGULAR)

"""Complete a follow-up into a question that stands by itself: *And in 2023?*, *What is its capital?*, *And Spain?*"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from research.citations import cited
from research.models.extractive.groups import place_in
from research.models.extractive.patterns import COMPARATIVE, SUPERLATIVE
from research.models.extractive.places import mentions, usual, within
from research.models.extractive.question import Question, parse
from research.models.extractive.times import periods
from research.quantities import quantities
from research.text import has_cjk

_OF_EACH = re.compile(r"(?:\b(?:each|both)(?: (?:one|country))?(?: of (?:them|these|those))?\W*$)|各自?(?=的)", re.I)
"""Matches what means all that the answer before it names, not what the question before it does."""
_REFERS = re.compile(
    r"(?P<among>其中(?=哪|谁|最|有)|\b(?:of|among) (?:them|these|those)\b)|"
    r"\b(?P<whose>its|their|(?P<hers>his|her))\b|\b(?P<where>there)\b(?! (?:is|are|was|were)\b)|"
    r"\b(?P<them>them|they|those|these)\b|\b(?P<who>she|he|(?:that|this) (?:person|man|woman|leader))\b|"
    r"\b(?:it|(?:that|this) (?:country|place|one)|the (?:country|same))\b|"
    r"[他她它]们|[它其]|那里|当地|该国|这个国家|那个国家",
    re.I,
)
"""Words that refer to something mentioned before."""
_OF_SEVERAL = ("them", "they", "their", "他们", "她们", "它们")
_CITY = re.compile(r"\b(?:capital|city|town)\b", re.I)
"""Matches a question for a place in which something is *there*."""
_GOES_ON = re.compile(
    r"^\W*(?:(?:and|but|then|what about|how about|what of)\b[ ,]*)+|^\W*(?:那么|那|而|还有)|呢(?=\W*$)", re.I
)
_COMPARES = re.compile(r"\b(?:compare[ds]?|comparison|versus|vs)\b|相比|比起来", re.I)
_ENDS = re.compile(rf"{SUPERLATIVE.pattern}|{_COMPARES.pattern}", re.I)
"""What says which end is asked for, or that things are compared, and no measure."""
_BEFORE = "for|of|in|at|by|from|with"
_INSTEAD = re.compile(
    rf"^\W*(?:and|but|what about|how about) (?P<before>{_BEFORE}) (?P<en>[a-z][\w' -]{{1,40}}?)\W*$|"
    r"^\W*(?:那么?)?(?P<zh>\w{1,10})呢\W*$",
    re.I,
)
"""Matches a follow-up that only names another thing: *and for vacuum cleaners?*"""
_SHORT = 10
"""Longest Chinese question, in characters, that may leave out what it is about."""
_WHETHER = re.compile(r"^\W*(?:is|are|was|were|do|does|did|has|have|can)\b|吗\W*$", re.I)
_LISTED = re.compile(r"^(?:what|which|who) (?:are|were) (?P<what>the [^?]+?)\W*$", re.I)
"""What *them* means after it."""
_DESCRIBED = re.compile(r"^(?:what|which|who)(?:['’]s| is| was) (?P<what>the [^?]+?)\W*$", re.I)
_NAMED_ZH = re.compile(r"(?:叫|是|为)(?:什么|谁|哪\w{0,3})\W*$")
"""What describes, in a question, the thing that it asks for; in Chinese what is left without the asking words."""
_PHRASE = r"\b(?:of|in|for|under|by|from|at|with|to) (the (?:[\w’'-]+ ){{0,4}}?{name}(?: [\w’'-]+){{0,4}}?)\W*$"
"""Matches a name with the words that belong to it: *the Orrin agreement*."""
_ABOUT = re.compile(r"[>\s]*([^*:：\n]{1,40})(?:: |：)(?![“「])")
"""Matches what an answer is about; before a quotation stands the title of its document."""
_OBJECT = re.compile(r"\b(?:the|our|an?) [\w’'-]+(?: [\w’'-]+){0,3}(?=\W*$)", re.I)
"""Matches the thing with which a question ends: *the new oven*."""
_WHICH = re.compile(
    r"^\W*(?:and |but )?(?P<en>(?:which|what) (?!of\b)[\w-]+)\W*$|^\W*那?(?P<zh>哪[个种类家款]\w{1,4}?)呢?\W*$", re.I
)
"""Matches a follow-up that only asks which thing of another kind: *And which product?*"""
_NOUN = re.compile(r"(?:the|an?)\b", re.I)
"""Matches a noun with its article: *the notice period*."""
_RANKED = re.compile(
    rf"\b(?:has|have) the (?:{SUPERLATIVE.pattern}) (?P<measure>[^?]+?)(?: in (?:the )?(?-i:[A-Z])[^?]*)?\W*$", re.I
)
_RANKED_ZH = re.compile(rf"(?:国家?|地区)的?(?P<measure>[^最]{{2,20}})(?:{SUPERLATIVE.pattern})\W*$")
"""Match a question that ranks, with what it ranks by."""
_BOLD = re.compile(r"\*\*(.+?)\*\*")


def standing(question: str, earlier: Iterable[tuple[str, str]]) -> str:
    """Return a question that needs none of the `earlier` ones, each with its report."""
    before = answer = said = ""
    for asked, said in earlier:
        before, answer = completed(asked, before, answer), said if cited(said.partition("\n")[0]) else ""
    pronoun = _REFERS.search(question)
    if before and pronoun and pronoun["among"] and not cited(said):
        return question  # nothing was found that it could be about
    return completed(question, before, answer)


def refers(text: str) -> bool:
    """Return whether a question has a pronoun for something that was said before it."""
    return bool(_REFERS.search(text) or (_OF_EACH.search(text) and not parse(text).names))


def lost(text: str) -> bool:
    """Return whether a question still says *she* or *its* of what nothing before it names."""
    pronoun = _REFERS.search(text)
    return bool(pronoun and (pronoun["who"] or pronoun["whose"] or pronoun["among"]))


def leaves_out(text: str) -> bool:
    """Return whether a short Chinese part of a question names nothing that it could be about: 卖了多少钱？"""
    return has_cjk(text) and len(text) <= _SHORT and not parse(text).names and not mentions(text)


def compares(text: str) -> bool:
    """Return whether a question only sets other things beside those of the one before it: `how does Peru compare?`"""
    return _COMPARES.search(text) is not None and says_nothing(parse(text))


def completed(text: str, before: str, answer: str = "", *, inside: bool = False) -> str:
    """Return a follow-up as a question that stands by itself; `before` is one that does, with its answer.

    With `inside` both are parts of one question: in Chinese the later one need not say again what it is about.

    >>> completed("And in Peru?", "What is the capital of Chile?")
    'What is the capital of Peru?'
    >>> completed("What is its population?", "What is the capital of Chile?")
    "What is Chile's population?"
    >>> completed("What is the capital of each?", "Which are the largest?", "**Peru** and **Chile** [1]")
    'What is the capital of Peru and Chile?'
    """
    if not before:
        return text
    asked, earlier = parse(text), parse(before)
    each = None if asked.names else _OF_EACH.search(text)
    if each and len(names := _all_of(earlier, answer)) > 1:
        return f"{text[: each.start()]}{_joined(names, before)}{'' if has_cjk(text) else '?'}{text[each.end() :]}"
    pronoun = _REFERS.search(text)
    if pronoun and pronoun["among"]:
        return _among(text, pronoun, _several(before, earlier, answer))
    empty = says_nothing(asked)
    if empty and (asked.names or asked.years or periods(text) or SUPERLATIVE.search(text.lower())):
        about = _ABOUT.match(answer)
        named = bool(asked.names) and all(map(usual, asked.names)) and not any(map(usual, earlier.names))
        if named and (measured := _of_top(before, earlier, answer, text, asked.names)):
            return measured
        return _changed(before, earlier.names or ([about[1]] if about else []), text, asked)
    thing = _thing(before, earlier, answer, person=bool(pronoun and (pronoun["who"] or pronoun["hers"])))
    if pronoun is None and len(earlier.names) > 1:
        thing = _joined(earlier.names, before)
    if inside and pronoun and pronoun.lastgroup is None and not thing and (ends := _OBJECT.search(before)):
        thing = ends[0]
    if pronoun and pronoun[0].lower() in _OF_SEVERAL and len(names := _all_of(earlier, answer)) > 1:
        thing = _joined(names, before)
    if pronoun and pronoun["where"] and _CITY.search(before):
        thing = next(iter(_BOLD.findall(answer)), thing)
    if thing and pronoun:
        return _REFERS.sub(lambda match: _put(match, thing, before), text)
    if kind := _WHICH.match(text):
        length = len(kind["zh"] or "") - 2
        asking = rf"哪[个种类家款]\w{{{length}}}" if kind["zh"] else r"\b(?:which|what) [\w-]+"
        if re.search(asking, before, re.I) and SUPERLATIVE.search(before.lower()):
            changed = re.sub(asking, kind["zh"] or kind["en"], before, count=1, flags=re.I)
            return f"{changed[:1].upper()}{changed[1:]}"
    other = _INSTEAD.match(text)
    if other and not thing and (changed := _in_its_place(before, other)):
        return changed
    if empty:
        return f"{before} {text}"
    if thing and other and (at := before.lower().find(thing.lower())) >= 0:
        return f"{before[:at]}{other['en'] or other['zh']}{before[at + len(thing) :]}"
    short = has_cjk(text) and (inside or (len(text) <= _SHORT and not SUPERLATIVE.search(text)))
    if not thing or asked.names or not (_GOES_ON.search(text) or short) or _RANKED_ZH.search(text):
        return text
    rest = _GOES_ON.sub("", text).strip(" ?？")
    if has_cjk(rest):
        return f"{thing}的{rest}？"
    return f"What is {rest} of {thing}?" if _NOUN.match(rest) else f"{rest}: {thing}?"


def _of_top(before: str, earlier: Question, answer: str, text: str, new: Sequence[str]) -> str:
    """Return the question what other things have of what the question before ranks by, beside its first if they are compared.

    Empty if the question before does not end with that measure.
    """
    top = _thing(before, earlier, answer, person=False) if _COMPARES.search(text) else ""
    names = [name for name in (top, *new) if name]
    if has_cjk(before):
        ranked = _RANKED_ZH.search(before)
        return f"{'和'.join(names)}的{ranked['measure']}是多少？" if ranked else ""
    ranked = _RANKED.search(before)
    return f"What is the {ranked['measure']} of {' and '.join(names)}?" if ranked else ""


def _all_of(earlier: Question, answer: str) -> Sequence[str]:
    """Return the countries in the first line of an answer: in bold, or other than in its question; else those in the question."""
    line = answer.partition("\n")[0]
    bold = [name for name in _BOLD.findall(line) if usual(name)]
    asked = {usual(name) for name in earlier.names}
    new = [each.names[0] for each in mentions(line) if len(each.names) == 1 and each.names[0] not in asked]
    return next((listed for listed in (bold, new) if len(listed) > 1), earlier.names)


def _joined(names: Sequence[str], before: str) -> str:
    if has_cjk(before):
        return "、".join(names)
    *others, last = (within(name, "en") for name in names)
    return f"{', '.join(others)} and {last}"


def _several(before: str, earlier: Question, answer: str) -> str:
    """Return the things that a question, or the first line of its answer, names together; empty if they name one or none."""
    names, zh = _all_of(earlier, answer), has_cjk(before)
    if len(names) > 1:
        return _joined(names, before)
    if listed_as := _LISTED.match(before):
        return listed_as["what"]
    if earlier.relation and names:
        return f"{names[0]}的邻国" if zh else f"the neighbours of {names[0]}"
    place = place_in(before)
    if not place or zh:
        return f"{place}国家" if place else ""
    return (
        f"the {place} countries"
        if re.search(rf"{place} (?:countries|nations|states)", before)
        else f"the countries in {place}"
    )


def _among(text: str, pronoun: re.Match[str], things: str) -> str:
    """Return a question of these things in place of the words for them: *which of them*; as it is if there are none."""
    if not things:
        return text
    put = f"{things}中" if has_cjk(text) else f"of {things}"
    return f"{text[: pronoun.start()]}{put}{text[pronoun.end() :]}"


def carried(text: str, before: str) -> str:
    """Return a part of a question about what the part before it names; empty if that names nothing, or the part does.

    >>> carried("When was the last election?", "Who is the president of Brazil?")
    'When was the last election in Brazil?'
    >>> carried("What is the capital of each?", "Which neighbours of Germany have more than 30 million people?")
    ''
    """
    asked, earlier = parse(text), parse(before)
    free = asked.names or SUPERLATIVE.search(f"{before} {text}".lower()) or not earlier.names
    if free or has_cjk(text) or _OF_EACH.search(text):
        return ""
    return f"{text.rstrip(' ?')} in {' and '.join(earlier.names)}?"


def of_described(text: str, before: str) -> str:
    """Return a part of a question about what the part before it describes, not about its answer; empty if it is about neither.

    >>> of_described("How tall is it?", "What is the highest point in Peru?")
    'How tall is the highest point in Peru?'
    >>> of_described("海拔多少？", "秘鲁最高峰叫什么？")
    '秘鲁最高峰的海拔多少？'
    """
    if has_cjk(text):
        thing = _NAMED_ZH.sub("", before)
        return f"{thing}的{_REFERS.sub('', text).removeprefix('的')}" if thing != before else ""
    named = _DESCRIBED.match(before)
    if named is None or not refers(text):
        return ""
    return _REFERS.sub(lambda match: _put(match, named["what"], before), text)


def says_nothing(asked: Question) -> bool:
    """Return whether a question says no measure: only names, times, and what compares."""
    asked = parse(_ENDS.sub(" ", asked.text))
    words = [word for each in asked.targets for word in (*each.words, *each.beside, *each.near)]
    said = asked.pick or asked.relation or any(target.label for target in asked.targets)
    return not said and not words


def _changed(before: str, names: Sequence[str], text: str, asked: Question) -> str:
    """Return the question before, about what a follow-up names: other things, another time, the other end."""
    when = periods(text)
    new = [name for name in asked.names if not any(name in text[each.start : each.end] for each in when)]
    changed = _other_names(before, names, new, text) if new else before
    if when:
        changed = _other_time(changed, text[when[0].start : when[-1].end])
    end, other = SUPERLATIVE.search(text.lower()), SUPERLATIVE.search(changed.lower())
    if end and other:
        changed = f"{changed[: other.start()]}{end.group()}{changed[other.end() :]}"
    return changed


def _other_names(before: str, names: Sequence[str], new: Sequence[str], text: str) -> str:
    """Return a question about other things: in place of those before, or beside them if it compares."""
    zh = has_cjk(before)
    added = ("和" if zh else " and ").join(new)
    apart = {usual(name) or name: name for name in reversed(names)}.values()  # `Nigeria` and `Nigerian` are one
    places = sorted((at, at + len(name)) for name in apart if (at := before.lower().find(name.lower())) >= 0)
    if not places:
        rest = _GOES_ON.sub("", text).strip(" ?？")
        return f"{rest}{before}" if zh else f"{before.rstrip(' ?')} {rest}?"
    start, end = places[0]
    if _COMPARES.search(text) or (len(places) > 1 and (" or " in before or not _WHETHER.search(before))):
        joint = ("、" if len(places) > 1 else "和") if zh else (", " if len(places) > 1 else " and ")
        return f"{before[:end]}{joint}{added}{before[end:]}"
    same = usual(before[start:end])
    again = [each.place for each in mentions(before[end:]) if each.names == (same,)] if len(new) == 1 else []
    rest, at = "", end
    for first, last in ((end + a, end + b) for a, b in again):  # `the average Nigerian`
        own = f"{added}'s" if re.match(r" ?[a-z]", before[last:]) else f"person in {added}"
        rest += f"{before[at:first]}{added if zh or usual(before[first:last]) == before[first:last] else own}"
        at = last
    rest = rest.replace(f"the {added}'s", f"{added}'s")
    return f"{before[:start]}{added}{rest}{before[at:]}"


def _in_its_place(before: str, other: re.Match[str]) -> str:
    """Return the question before about what a follow-up names, in place of what has the same form; empty if none has.

    That is what follows the same preposition, or the Chinese words that begin or end alike: 那信息部呢 after 行政部.
    """
    if new := other["zh"]:
        rest = len(new) - 1
        alike = re.compile(rf"(?={re.escape(new[0])}\w{{{rest}}}|\w{{{rest}}}{re.escape(new[-1])})")
        places = [match.start() for match in alike.finditer(before)]
        return f"{before[: places[0]]}{new}{before[places[0] + len(new) :]}" if rest and len(places) == 1 else ""
    phrase = rf"\b{other['before']} ((?:(?! (?:{_BEFORE})\b).)+?)(?= (?:{_BEFORE})\b|\W*$)"
    found = list(re.finditer(phrase, before, re.I))
    if len(found) != 1:
        return ""
    new = re.sub(r"\bones?$", found[0][1].rpartition(" ")[2], other["en"])
    return f"{before[: found[0].start(1)]}{new}{before[found[0].end(1) :]}"


def _other_time(before: str, when: str) -> str:
    """Return a question about another time."""
    if known := periods(before):
        return f"{before[: known[0].start]}{when}{before[known[-1].end :]}"
    return f"{when}{before}" if has_cjk(before) else f"{before.rstrip(' ?')} in {when}?"


def _thing(before: str, earlier: Question, answer: str, *, person: bool) -> str:
    """Return what *it* means after a question: what was chosen, or what the question names."""
    lower, said = before.lower(), _BOLD.findall(answer.partition("\n")[0])
    if SUPERLATIVE.search(lower) or (COMPARATIVE.search(lower) and answer):
        name = said[0] if said and not said[0].endswith((".", "。")) else ""
        figure = next((each.start for each in quantities(name) if each.kind == "number"), 0)
        return name[:figure].strip(" -–(（") or name  # `Mount Wilhelm 4,509 m`
    if person and lower.startswith("who "):
        named = [
            name
            for name in earlier.names
            if lower.strip(" ?").endswith((f" is {name.lower()}", f" was {name.lower()}"))
        ]
        return next(iter([*named, *reversed(said)]), "")
    about = _ABOUT.match(answer)
    names = [name for name in earlier.names if place_in(name) != name] or earlier.names  # beside its country, no region
    sure = [name for name in names if name not in earlier.doubtful]
    countries = any(mentions(name) for name in names)
    if about and not countries and (not sure or (len(sure) == 1 and sure[0] in about[1])):
        return about[1]
    if len(names) == 1:
        phrase = re.search(_PHRASE.format(name=re.escape(names[0])), before, re.I)
        return phrase[1] if phrase else names[0]
    return ("和" if has_cjk(before) else " and ").join(names)


def _put(match: re.Match[str], thing: str, before: str) -> str:
    """Return the words in place of a pronoun."""
    listed = _LISTED.match(before) if match["them"] else None
    if listed:
        return listed["what"]
    return f"{thing}'s" if match["whose"] else f"in {thing}" if match["where"] else thing

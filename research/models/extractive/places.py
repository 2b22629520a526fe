"""Find countries in a question: names, peoples, other languages' names, misspelt names, and names that several share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from msgspec import Struct

from research.models.extractive.names import countries
from research.models.extractive.phrasebook import vocabulary
from research.text import STOP_WORDS, has_cjk, tokens

Place = tuple[int, int]
"""Start and end in a text."""

REGIONAL = frozenset(
    "africa african europe european asia asian america american oceania oceanian australia middle east eastern south north "
    "central southeast caribbean world earth global globe planet and the 非洲 欧洲 亚洲 中东 南亚 中亚 大洋洲 北美 南美 北美洲 "
    "南美洲 美洲 世界 全世界 全球".split()
)
"""The words of regions' names."""


class Mention(Struct, frozen=True):
    """A country in a question."""

    written: str
    place: Place
    names: tuple[str, ...]
    """Usual names: one, or several if the question does not say which is meant."""
    guessed: bool = False
    """Whether the name was misspelt."""


LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt", "zh")
"""Languages in which cells name countries and months."""
_SHARED = {
    "congo": ("Democratic Republic of the Congo", "Republic of the Congo"),
    "congos": ("Democratic Republic of the Congo", "Republic of the Congo"),
    "刚果": ("Democratic Republic of the Congo", "Republic of the Congo"),
    "korea": ("South Korea", "North Korea"),
    "koreas": ("South Korea", "North Korea"),
    "virgin islands": ("US Virgin Islands", "British Virgin Islands"),
    "维尔京群岛": ("US Virgin Islands", "British Virgin Islands"),
    "samoas": ("Samoa", "American Samoa"),
    "sudans": ("Sudan", "South Sudan"),
    "congolese": ("Democratic Republic of the Congo", "Republic of the Congo"),
    "korean": ("South Korea", "North Korea"),
    "dominican": ("Dominican Republic", "Dominica"),
    "koreans": ("South Korea", "North Korea"),
    "dominicans": ("Dominican Republic", "Dominica"),
}
"""Names that two countries share."""
_USUAL = {
    "CD": "Democratic Republic of the Congo", "CG": "Republic of the Congo", "MM": "Burma", "TR": "Turkey",
    "CV": "Cabo Verde", "BS": "The Bahamas", "GM": "The Gambia", "HK": "Hong Kong", "MO": "Macau",
    "BA": "Bosnia and Herzegovina", "AG": "Antigua and Barbuda", "TT": "Trinidad and Tobago", "CI": "Côte d'Ivoire",
    "VC": "Saint Vincent and the Grenadines", "LC": "Saint Lucia", "KN": "Saint Kitts and Nevis",
    "ST": "Sao Tome and Principe", "FM": "Federated States of Micronesia", "VA": "Holy See (Vatican City)",
    "PM": "Saint Pierre and Miquelon", "MF": "Saint Martin", "BL": "Saint Barthelemy", "CW": "Curacao",
    "TC": "Turks and Caicos Islands", "WF": "Wallis and Futuna", "VI": "US Virgin Islands",
    "CC": "Cocos (Keeling) Islands", "SH": "Saint Helena, Ascension, and Tristan da Cunha", "SZ": "Eswatini",
}  # fmt: skip
"""Names of countries in reference works, where they differ from those of CLDR."""
_MORE = {
    "st lucia": "LC", "st kitts and nevis": "KN", "st kitts": "KN", "saint vincent": "VC", "st vincent": "VC",
    "sao tome": "ST", "federated states of micronesia": "FM", "vatican": "VA", "holy see": "VA",
    "american virgin islands": "VI", "bosnia": "BA", "trinidad": "TT", "antigua": "AG", "the emirates": "AE",
    "emirates": "AE", "united states of america": "US", "the states": "US", "dr congo": "CD", "d.r. congo": "CD",
    "congo-kinshasa": "CD", "congo kinshasa": "CD", "zaire": "CD", "congo-brazzaville": "CG",
    "congo brazzaville": "CG", "republic of congo": "CG", "democratic republic of congo": "CD", "rok": "KR",
    "dprk": "KP", "prc": "CN", "ksa": "SA", "northern ireland": "GB", "macedonia": "MK", "brunei darussalam": "BN",
    "russian federation": "RU", "persia": "IR", "siam": "TH", "ceylon": "LK", "khmer republic": "KH", "kiwi": "NZ",
    "scotch": "GB", "briton": "GB", "brit": "GB", "swede": "SE", "finn": "FI", "turk": "TR", "spaniard": "ES",
    "greeks": "GR", "scot": "GB", "frenchmen": "FR", "dutchmen": "NL", "dutchman": "NL", "laotian": "LA",
    "cypriot": "CY", "monegasque": "MC", "burkinabe": "BF", "burkinabé": "BF", "malagasy": "MG", "basotho": "LS",
    "motswana": "BW", "batswana": "BW", "swazi": "SZ", "yemenite": "YE", "saudi": "SA", "hellenic": "GR",
    "togolese": "TG", "lebanese": "LB", "sinhalese": "LK", "sri lankan": "LK", "new zealander": "NZ",
    "south african": "ZA", "costa rican": "CR", "puerto rican": "PR", "south sudanese": "SS",
    "equatorial guinean": "GQ", "sierra leonean": "SL", "papua new guinean": "PG", "cape verdean": "CV",
    "british honduras": "BZ", "northern rhodesia": "ZM", "southern rhodesia": "ZW", "rhodesia": "ZW",
    "bechuanaland": "BW", "basutoland": "LS", "dahomey": "BJ", "upper volta": "BF", "ellice islands": "TV",
    "gilbert islands": "KI", "new hebrides": "VU", "dutch guiana": "SR", "british guiana": "GY", "gold coast": "GH",
    "nyasaland": "MW", "tanganyika": "TZ", "french sudan": "ML", "east pakistan": "BD", "french somaliland": "DJ",
    "spanish guinea": "GQ", "portuguese guinea": "GW", "belgian congo": "CD", "ubangi-shari": "CF", "abyssinia": "ET",
    "south west africa": "NA", "south-west africa": "NA", "kampuchea": "KH", "trucial states": "AE",
    "portuguese timor": "TL", "dutch east indies": "ID", "netherlands east indies": "ID",
    "british solomon islands": "SB", "transjordan": "JO", "北朝鲜": "KP", "南韩": "KR", "北韩": "KP", "刚果金": "CD",
    "刚果(金)": "CD", "民主刚果": "CD", "刚果民主共和国": "CD", "刚果布": "CG",
    "刚果(布)": "CG", "刚果共和国": "CG", "蒙古国": "MN", "外蒙古": "MN",
    "美利坚": "US", "英格兰": "GB", "阿联酋": "AE", "沙特": "SA", "印尼": "ID", "中非": "CF",
    "波黑": "BA", "波斯尼亚": "BA", "象牙海岸": "CI", "cote d'ivoire": "CI",
    "turkiye": "TR", "巴新": "PG", "纽西兰": "NZ", "寮国": "LA",
}  # fmt: skip
_COMMON = frozenset("us pole dane man polish turk finn kiwi scotch brit swede chili".split())
"""Names that are common words in lower case."""
_PART = re.compile(r"(?:north|south|latin|central|meso|anglo)(?:ern)?[ -]$")
"""Matches before `American` in the name of a part of the world."""
_LANGUAGE = re.compile(r"[语文](?![化物])|人种")
"""Matches after the name of a country in the Chinese name of a language."""
_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['’.\-](?=[^\W\d_]))*")
_NEEDS_ARTICLE = re.compile(
    r"United .*|.* (?:Islands|Republic|Emirates|Lands|Territory)|Netherlands|Philippines|Maldives|Bahamas.*|Gambia.*|Holy See.*"
)
"""Matches names of countries that have an article within a sentence."""


@cache
def named(code: str) -> str:
    """Return the name that sources use of a country, by its ISO 3166 code."""
    from babel import Locale

    return _USUAL.get(code) or str(Locale("en").territories.get(code, code))


@cache
def _known() -> dict[str, str]:
    """Return the usual name by every name of a country, in lower case."""
    usual = {code: named(code) for code in {*countries().values(), *_MORE.values()}}
    for code, name in (("WLS", "United Kingdom"), ("SCT", "United Kingdom"), ("ENG", "United Kingdom")):
        usual[code] = name
    found = {name: usual[code] for name, code in {**countries(), **_MORE}.items() if len(name) > 1}
    for name in usual.values():
        found.setdefault(name.lower(), name)
    for name in ("Gaza Strip", "West Bank", "Svalbard", "European Union", "World"):
        found[name.lower()] = name
    for other in (*_SHARED, "world", "世界"):
        found.pop(other, None)
    return found


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    names = sorted({*_known(), *_SHARED}, key=len, reverse=True)
    latin = [re.escape(name) for name in names if not has_cjk(name)]
    chinese = [re.escape(name) for name in names if has_cjk(name)]
    return re.compile(rf"(?<![\w.])(?:{'|'.join(latin)})(?:s)?(?!\w)"), re.compile("|".join(chinese))


@lru_cache(maxsize=512)
def mentions(text: str) -> tuple[Mention, ...]:
    """Return the countries in a text, in order."""
    lower = text.lower().replace("’", "'")
    if len(lower) != len(text):
        lower = text
    latin, chinese = _patterns()
    found = [each for pattern in (chinese, latin) for each in _exact(text, lower, pattern)]
    if not found:
        found = [*_misspelt(text, lower)]
    return tuple(sorted((_longer(each, lower) for each in found), key=lambda each: each.place))


def _longer(found: Mention, lower: str) -> Mention:
    """Return the longer Chinese name that begins with one found, if it stands there with one wrong character: 印度尼西雅."""
    start, end = found.place
    for name, country in _known().items() if has_cjk(found.written) else ():
        said = lower[start : start + len(name)]
        longer = name.startswith(lower[start:end]) and len(name) == len(said) > end - start + 1
        if longer and sum(one != other for one, other in zip(name, said, strict=True)) == 1:
            return Mention(said, (start, start + len(name)), (country,), guessed=True)
    return found


def within(name: str, language: str) -> str:
    """Return the name of a country as it is written within a sentence: `the Netherlands`."""
    bare = name.removeprefix("The ")
    return f"the {bare}" if language == "en" and _NEEDS_ARTICLE.fullmatch(bare) else name


def usual(name: str) -> str | None:
    """Return the name of a country that sources use; None if it is not the name of a country."""
    plain = re.sub(r"'s?$", "", name.lower().replace("’", "'")).removeprefix("the ")
    return _known().get(plain) or _known().get(f"the {plain}") or _known().get(plain.removesuffix("s"))


@cache
def _at_home() -> dict[str, str]:
    """Return the usual names of countries by those in the languages of headings, in lower case (CLDR)."""
    from babel import Locale

    territories = [Locale(language).territories for language in LANGUAGES]
    return {name.lower(): named(code) for each in territories for code, name in each.items() if len(code) == 2}


def home_of(cell: str) -> str:
    """Return the name that sources use of the country that a cell names in some language; empty if it names none."""
    return _at_home().get(cell.strip().lower(), "")


def _exact(text: str, lower: str, pattern: re.Pattern[str]) -> Iterator[Mention]:
    for match in pattern.finditer(lower):
        name = match.group()
        start, end = match.span()
        if name == "us":
            if start and text[start:end] != "US" and not lower.endswith("the ", 0, start):
                continue
        elif (
            name in STOP_WORDS or text[start].islower() and (name in _COMMON or len(name) < 6 and name not in _spelt())
        ):
            continue
        if (name.startswith("america") and _PART.search(lower, max(0, start - 12), start)) or (
            has_cjk(name) and _LANGUAGE.match(lower, end)
        ):
            continue
        shared = _SHARED.get(name)
        known = _known().get(name) or _known().get(name.removesuffix("s"))
        if shared or known:
            yield Mention(text[start:end], (start, end), shared or (str(known),))


def _misspelt(text: str, lower: str) -> Iterator[Mention]:
    """Yield the names of countries with one or two wrong letters, if only one country comes that near."""
    for match in re.finditer(r"[\u3400-\u9fff]{4,}", text):
        yield from _misspelt_chinese(match)
    words = list(_WORD.finditer(lower))
    spans = [(a.start(), b.end()) for n in (3, 2, 1) for a, b in zip(words, words[n - 1 :], strict=False)]
    taken: set[int] = set()
    for start, end in spans:
        written = re.sub(r"'s$", "", lower[start:end])
        if not written.isascii() and has_cjk(written) or taken & set(range(start, end)):
            continue
        if (name := _nearest(written)) is not None:
            taken |= set(range(start, end))
            yield Mention(text[start : start + len(written)], (start, start + len(written)), (name,), guessed=True)


def _misspelt_chinese(match: re.Match[str]) -> Iterator[Mention]:
    run = match.group()
    names = [name for name in _known() if has_cjk(name) and len(name) >= 4]
    near: dict[str, Place] = {}
    for name in names:
        for at in range(len(run) - len(name) + 1):
            piece = run[at : at + len(name)]
            if sum(a != b for a, b in zip(piece, name, strict=True)) == 1 and piece[0] == name[0]:
                near[_known()[name]] = (match.start() + at, match.start() + at + len(name))
    if len(near) == 1:
        ((name, place),) = near.items()
        yield Mention(run[place[0] - match.start() : place[1] - match.start()], place, (name,), guessed=True)


@lru_cache(maxsize=4096)
def _nearest(written: str) -> str | None:
    """Return the only country whose name is one letter away, or two for eight letters and more; None otherwise.

    Five letters may only be in another order: Lagos is not Laos.
    """
    if len(written) < 5:
        return None
    most = 1 if len(written) < 8 else 2
    near: dict[str, int] = {}
    for name in _spelt():
        if abs(len(name) - len(written)) <= most and name[0] == written[0]:
            distance = _distance(written, name, most)
            if distance <= most and (len(written) > 5 or sorted(written) == sorted(name)):
                near[_known()[name]] = min(distance, near.get(_known()[name], 9))
    best = [name for name, distance in near.items() if distance == min(near.values())]
    return best[0] if len(best) == 1 and not set(tokens(written)) <= vocabulary() else None


@cache
def _spelt() -> frozenset[str]:
    """Return the names of countries in Latin letters, without those of peoples."""
    from babel import Locale

    usual = {name.lower() for name in _known().values()}
    return frozenset(usual | {name.lower() for name in Locale("en").territories.values()} & _known().keys())


def _distance(a: str, b: str, most: int) -> int:
    """Return the number of letters to change, add, drop or swap; more than `most` if it exceeds that."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, last, row = row, before, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]

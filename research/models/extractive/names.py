"""Names of people, organisations and places in a text.  Countries are identified by their ISO code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from research._util.glossary import label_terms, plain_territory, terms
from research.text import STOP_WORDS, has_cjk

_LETTER = r"[A-Za-z0-9À-ɏ’'\-]"
_CAPITAL = rf"(?:[dDlLO]['’])?(?:[A-ZÀ-ÞŠŽČŚŁĐĆİŌ]{_LETTER}*|[a-z]{{1,2}}[A-Z]{_LETTER}+)"
_RUN = re.compile(
    rf"(?<![\w.])(?:(?:[A-Z]\.){{2,}}|{_CAPITAL})"
    rf"(?:(?:[ ]|\. (?<=\b[A-Z]\. ))(?:(?:of|de|da|do|du|del|la|le|el|al|von|van|bin)[ ]){{0,2}}{_CAPITAL})*"
)
_NOT_NAMES = frozenset(
    "i january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday jan feb mar apr jun jul aug sep sept oct nov dec q1 q2 q3 q4 gdp ppp ceo cfo ci mr "
    "mrs ms dr lord lady sir est fy he she it they we you his her its their our my this that these those there yes no "
    "celsius fahrenheit kelvin ad bc ce bce am pm usd eur gbp lng co2 pm2 kwh mwh gwh twh".split()
)
_BEFORE_NAMES = STOP_WORDS | _NOT_NAMES
_POSSESSIVE = re.compile(r"['’]s?$")
_CONTRACTED = re.compile(r"['’](?:m|ve|d|ll|re)$")
_DEMONYMS = {
    "french": "FR", "german": "DE", "dutch": "NL", "british": "GB", "britain": "GB", "great britain": "GB", "uk": "GB",
    "u.k.": "GB", "swiss": "CH", "danish": "DK", "dane": "DK", "spanish": "ES", "polish": "PL", "pole": "PL",
    "finnish": "FI", "swedish": "SE", "turkish": "TR", "turkey": "TR", "türkiye": "TR", "greek": "GR", "thai": "TH",
    "irish": "IE", "czech": "CZ", "czech republic": "CZ", "slovak": "SK", "norwegian": "NO", "portuguese": "PT",
    "peruvian": "PE", "filipino": "PH", "philippine": "PH", "american": "US", "us": "US", "u.s.": "US", "usa": "US",
    "u.s.a.": "US", "america": "US", "chinese": "CN", "belgian": "BE", "afghan": "AF", "argentine": "AR", "uzbek": "UZ",
    "kazakh": "KZ", "kyrgyz": "KG", "tajik": "TJ", "turkmen": "TM", "serb": "RS", "croat": "HR", "icelandic": "IS",
    "congolese": "CD", "burmese": "MM", "burma": "MM", "myanmar": "MM", "ivorian": "CI", "ivory coast": "CI",
    "welsh": "WLS", "wales": "WLS", "scottish": "SCT", "scotland": "SCT", "england": "ENG", "english": "ENG",
    "north korean": "KP", "south korean": "KR", "cabo verde": "CV", "swaziland": "SZ", "east timor": "TL",
    "holland": "NL", "emirati": "AE", "uae": "AE", "bahamian": "BS", "the gambia": "GM", "gambia": "GM",
    "bahamas": "BS", "the bahamas": "BS", "hong kong": "HK", "macau": "MO", "nigerien": "NE",
    "democratic republic of the congo": "CD", "drc": "CD", "republic of the congo": "CG", "palestinian": "PS",
    "american samoan": "AS", "antiguan": "AG", "barbudan": "AG", "barbadian": "BB", "bajan": "BB", "bosnian": "BA",
    "herzegovinian": "BA", "bosniak": "BA", "british virgin islander": "VG", "cabo verdean": "CV", "caymanian": "KY",
    "central african": "CF", "comoran": "KM", "comorian": "KM", "cook islander": "CK", "ivoirian": "CI",
    "salvadoran": "SV", "salvadorean": "SV", "equatoguinean": "GQ", "liswati": "SZ", "emaswati": "SZ",
    "falkland islander": "FK", "faroese": "FO", "chuukese": "FM", "kosraean": "FM", "pohnpeian": "FM", "yapese": "FM",
    "frenchman": "FR", "frenchwoman": "FR", "french polynesian": "PF", "greenlandic": "GL", "guamanian": "GU",
    "bissau-guinean": "GW", "honduran": "HN", "hong konger": "HK", "irishman": "IE", "irishwoman": "IE",
    "manxman": "IM", "manxwoman": "IM", "manx": "IM", "i-kiribati": "KI", "lao": "LA", "mosotho": "LS",
    "maldivian": "MV", "marshallese": "MH", "mauritian": "MU", "montenegrin": "ME", "mozambican": "MZ",
    "dutchwoman": "NL", "new caledonian": "NC", "norfolk islander": "NF", "macedonian": "MK", "panamanian": "PA",
    "kittitian": "KN", "nevisian": "KN", "saint lucian": "LC", "st lucian": "LC", "vincentian": "VC",
    "sammarinese": "SM", "sao tomean": "ST", "são toméan": "ST", "saudi arabian": "SA", "seychellois": "SC",
    "slovene": "SI", "solomon islander": "SB", "timorese": "TL", "trinidadian": "TT", "tobagonian": "TT",
    "ni-vanuatu": "VU", "wallisian": "WF", "futunan": "WF", "sahrawi": "EH",
}  # fmt: skip
_PARTICLES = "于在将说称和与对由被把向任指认"
"""Particles that the segmenter mistakes for the end of a name."""
_ENDINGS = ("n", "an", "ian", "ean", "ese", "i", "ish", "er")


@lru_cache(maxsize=1)
def countries() -> dict[str, str]:
    """Return the ISO code by name of country or people, in lower case, English and Chinese (CLDR)."""
    from babel import Locale

    found = dict(_DEMONYMS)
    for language in ("en", "zh"):
        for code, name in Locale(language).territories.items():
            if len(code) == 2 and code.isalpha() and code not in ("EU", "UN", "EZ", "XA", "XB", "ZZ", "QO"):
                plain = plain_territory(name)
                found.setdefault(plain, code)
                found.setdefault(plain.removesuffix("特别行政区"), code)
    for english, chinese in terms("place").items():  # `US Virgin Islands`, which CLDR calls U.S. Virgin Islands
        if chinese in found:
            found.setdefault(english.casefold(), found[chinese])
    short = {name: code for name, code in found.items() if name.isalpha() and name.isascii() and len(name) > 3}
    for ending in _ENDINGS:  # full names first: `Nigerian` belongs to Nigeria, not to Niger
        for cut in (0, 1, 2):
            for name, code in short.items():
                if cut == 0 or name[-1] in "aeiouy":
                    found.setdefault(name[: len(name) - cut] + ending, code)
    return found


@lru_cache(maxsize=1)
def _chinese_places() -> re.Pattern[str]:
    """Return a pattern of countries and cities, the longer first: Brasília (巴西利亚) begins like Brazil (巴西)."""
    places = {zh for english, zh in terms("place").items() if english not in ("World", "the world")}
    words = {*(name for name in countries() if has_cjk(name)), *terms("city").values(), *places}
    return re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))


@lru_cache(maxsize=16_384)
def names(text: str) -> tuple[tuple[int, str, str], ...]:
    """Return the candidate names in order, as (position, as written, key).

    `Names.of` filters them: the first word of a sentence is often not a name.
    """
    places = ((m.start(), m.group()) for m in _chinese_places().finditer(text))
    found = [(at, place, countries()[place]) for at, place in places if place in countries()]
    for match in _RUN.finditer(text):
        written, place = match.group(), match.start()
        written = _POSSESSIVE.sub("", written)
        words = written.split()
        before = 0
        while before < len(words) and _CONTRACTED.sub("", words[before].lower()) in _BEFORE_NAMES:
            place += len(words[before]) + 1
            before += 1
        while len(words) > before and words[-1].lower() in _NOT_NAMES:
            words.pop()
        for part in _apart(" ".join(words[before:])):
            if len(part) > 1:
                at = text.find(part, place, match.end())
                found.append((max(at, place), part, key(part)))
    return tuple(sorted(found))


def _apart(name: str) -> list[str]:
    """Split a name at `of` if it joins two: `Real GDP of Chile` names Chile; `University of Leeds` is one name."""
    if " of " not in name:
        return [name]
    parts = re.split(r" of (?:the )?", name)
    if key(parts[-1]).isupper() or any(w.lower() in _NOT_NAMES for w in parts[0].split()):
        return (
            [name]
            if key(name).isupper()
            else [" ".join(w for w in part.split() if w.lower() not in _NOT_NAMES) for part in parts]
        )
    return [name]


def starts_sentence(text: str, place: int) -> bool:
    """Return whether a sentence starts at this position, so that a capital there does not indicate a name."""
    before = text[max(0, place - 64) : place].rstrip(" \t\"“‘'([*_#>-–—")
    return not before or before[-1] in ".!?:;。！？：；\n|"


def key(name: str) -> str:
    """Return the code of a country, else the words in lower case."""
    plain = name.replace("’", "'").casefold()
    if "'" in plain:
        plain = re.sub(r"'s?$|'s(?= )", "", plain)
    plain = plain.removeprefix("the ")
    return countries().get(plain) or countries().get(plain.removesuffix("s")) or plain


def is_country(key: str) -> bool:
    """Return whether a key is a country code."""
    return key.isupper()


class Names:
    """Finds names; learns from a collection of texts which words are names."""

    def __init__(self, texts: Iterable[str]) -> None:
        joined = "\n".join(texts)
        self.proper = {
            word.casefold()
            for place, written, _ in names(joined)
            if not starts_sentence(joined, place)
            for word in written.split()
        }
        self.common = set(re.findall(r"(?<![\w’'-])[a-z][a-z’'-]+", joined))

    def of(self, text: str) -> list[tuple[int, str, str]]:
        """Return the names of a text as (position, as written, key)."""
        found = []
        for place, written, k in names(text):
            words = written.split()
            if starts_sentence(text, place) and not is_country(k):
                if words[0].casefold() in self.common and words[0].casefold() not in self.proper:
                    place, words = place + len(words[0]) + 1, words[1:]
                elif len(words) == 1 and words[0].casefold() not in self.proper:
                    continue
            if not is_country(k) and words and all(word.casefold() in self.common for word in words):
                continue  # a title in capitals
            if words:
                written = " ".join(words)
                found.append((place, written, key(written)))
        return found + _tagged(text)


@lru_cache(maxsize=4_096)
def _tagged(text: str) -> list[tuple[int, str, str]]:
    """Return the Chinese names of people, places and organisations, from the segmenter's tags."""
    if not has_cjk(text):
        return []
    import rjieba

    places = ((m.start(), m.group()) for m in _chinese_places().finditer(text))
    found = [(at, name, name) for at, name in places if name not in countries()]
    # The segmenter cuts some places, and takes 城市 in the name of a measure for one.
    for pattern in (_chinese_places(), label_terms()):
        text = pattern.sub(lambda match: " " * len(match.group()), text)
    place = 0
    for word, tag in rjieba.tag(text):
        place = max(text.find(word, place), 0)
        if tag in ("nr", "ns", "nt") and len(word) > 2 and word[-1] in _PARTICLES:
            word = word[:-1]
        unit = text[max(place - 1, 0) : place].isdigit()  # 万吉瓦时
        if tag in ("nr", "ns", "nt") and len(word) > 1 and word not in countries() and not unit:
            found.append((place, word, word))
    return found

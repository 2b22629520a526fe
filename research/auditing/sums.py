"""Find numbers inside a report that do not add up: totals of tables, shares, and changes in percent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from research._util.said import say
from research.events.audit_findings import Miscount
from research.text import clip

MOST = 50
_NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?")
_TOTAL = re.compile(r"\W*(?:grand )?(?:total|sum|all|overall|合计|总计|总和)\b\W*|\W*(?:合计|总计|总和)\W*", re.I)
_VERB = re.compile(
    r"\b(?:rose|grew|risen|grown|increased|climbed|jumped|fell|fallen|dropped|declined|decreased|went)\b[^.;]{0,60}?\bfrom\b",
    re.I,
)
_FROM = re.compile(r"[^\d.;]{0,12}(\d[\d,]*(?:\.\d+)?)")
_TO = re.compile(r"([^;]{0,40}?)\bto\b[^\d.;]{0,12}(\d[\d,]*(?:\.\d+)?)")
_SHARE = re.compile(r"([^%;]{0,60}?)(?<![\d.,])(\d+(?:\.\d+)?)\s?(?:%|percent\b|per cent\b)(?!\s{0,9}points?)")


def miscounts(body: str) -> tuple[Miscount, ...]:
    """Return the places where the numbers of a report contradict each other."""
    found: list[Miscount] = []
    table: list[list[str]] = []
    for line in [*body.splitlines(), ""]:
        if line.strip().startswith("|"):
            if not re.fullmatch(r"[\s:|-]+", line):
                table.append([cell.strip() for cell in line.strip().strip("|").split("|")])
            continue
        found += _table(table)
        table = []
        found += _changes(line[:5_000])
    return tuple(found[:MOST])


def _value(cell: str) -> float | None:
    plain = re.sub(r"\s{0,9}\[[\d, ]{1,40}\]", "", cell)
    match = _NUMBER.search(plain)
    return (
        float(match.group().replace(",", "").replace("−", "-")) if match and len(_NUMBER.findall(plain)) == 1 else None
    )


def _half(text: str) -> float:
    """Return half a unit of the last digit of a number."""
    match = _NUMBER.search(text)
    digits = match.group().partition(".")[2] if match else ""
    return 0.5 * 10.0 ** -len(digits)


def _table(rows: Sequence[Sequence[str]]) -> Iterator[Miscount]:
    """Yield the totals in the last row of a table that are not the sum of the cells above."""
    if len(rows) < 4 or not rows[-1] or not _TOTAL.fullmatch(rows[-1][0].strip("*_ ")):
        return
    for column in range(1, len(rows[0])):
        cells = [row[column] if column < len(row) else "" for row in rows[1:]]
        values = [_value(cell) for cell in cells]
        if any(value is None for value in values):
            continue
        *parts, total = [value or 0.0 for value in values]
        room = sum(map(_half, cells)) + 1e-9
        if abs(sum(parts) - total) > room:
            name = rows[0][column]
            yield Miscount(
                clip(f"{name}: {cells[-1]}", 200),
                say("the rows above add up to {number}", number=f"{sum(parts):,.10g}"),
            )


def _changes(line: str) -> Iterator[Miscount]:
    """Yield the changes in percent that do not follow from the two figures beside them."""
    for verb in _VERB.finditer(line):
        first = _FROM.match(line, verb.end())
        second = first and _TO.match(line, first.end())
        third = second and _SHARE.match(line, second.end())
        if not (first and second and third):
            continue
        written = (first[1], second[2], third[2])
        a, b, p = (float(each.replace(",", "")) for each in written)
        if not a or re.search(r"%|percent|per cent", f"{second[1]} {third[1]}", re.I) or re.search(r"\.\s", third[1]):
            continue
        change = (b - a) / a * 100
        room = _half(written[2]) + 100 * (_half(written[0]) * b / a + _half(written[1])) / a + 0.05
        if abs(abs(change) - p) > room:
            yield Miscount(
                clip(line[verb.start() : third.end()], 300),
                say("from {a} to {b} is {change} %", a=written[0], b=written[1], change=f"{change:+.1f}"),
            )

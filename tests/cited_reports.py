"""Reports with known citations, in seven styles and four formats; shares no code with the reader of reports."""

from __future__ import annotations

import io
import random
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

STYLES = ("numbered", "footnotes", "links", "author_year", "superscripts", "source_lines", "chat_titles", "chat_sites")
FORMATS = ("md", "html", "docx", "pdf")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SQUARE = str.maketrans("【】", "[]")
"""The font of the pdf has no other brackets."""
_NAMES = (
    "Abbott Becker Castillo Dubois Eriksen Fontaine Garcia Hughes Ivanova Jensen Keller Lindqvist Moreau Novak".split()
)
_TOPICS = (
    "Coastal erosion|Steel recycling|Urban heat|Rail freight|Household savings|Dairy exports|Wind turbines|Night shifts|"
    "School meals|Forest fires|Harbour traffic|Battery prices|Rental housing|Fish stocks"
).split("|")
_MEASURES = (
    "The number of workers in {topic} was {n:,} in {year}.|Output of {topic} reached {n:,} tonnes in {year}.|"
    "In {year}, spending on {topic} was {n:,} euros per household.|About {p} percent of towns reported {topic} in {year}."
).split("|")


@dataclass(frozen=True)
class Work:
    """A source as it is cited."""

    author: str
    year: int
    title: str
    url: str

    @property
    def entry(self) -> str:
        return f"{self.author} ({self.year}). {self.title}. {self.url}"

    @property
    def short(self) -> str:
        return " & ".join(part.split(",")[0] for part in self.author.split(" & "))


@dataclass(frozen=True)
class Piece:
    text: str
    kind: str = ""
    """`sup`, `link` or nothing."""
    href: str = ""


@dataclass
class Block:
    kind: str
    """`h`, `p`, `li` (numbered) or `note`."""
    pieces: list[Piece]
    label: str = ""


@dataclass
class Planted:
    """A report, and what each of its statements cites."""

    style: str
    blocks: list[Block] = field(default_factory=list)
    pairs: list[tuple[str, Work]] = field(default_factory=list)


def make(seed: int, style: str, statements: int = 10) -> Planted:
    """Return a report of ten statements; one in five cites two works."""
    chance = random.Random(f"{seed} {style}")
    works = _works(chance)
    found = Planted(style, [Block("h", [Piece(f"A report on {chance.choice(_TOPICS).lower()}, part {seed}")])])
    order: list[Work] = []
    for number in range(statements):
        if number % 5 == 0:
            found.blocks.append(Block("h", [Piece(f"Findings {number // 5 + 1}")]))
        text = chance.choice(_MEASURES).format(
            topic=chance.choice(_TOPICS).lower(), n=chance.randint(11_000, 990_000) + number, p=11 + number,
            year=chance.randint(2001, 2023),
        )  # fmt: skip
        cited = chance.sample(works, 2 if number % 5 == 3 else 1)
        order += [each for each in cited if each not in order]
        found.pairs += [(text, each) for each in cited]
        _write(found, style, text, cited, order, chance)
    _listed(found, style, order if style != "author_year" else sorted(order, key=lambda each: each.author))
    return found


def _works(chance: random.Random) -> list[Work]:
    works = []
    for number, topic in enumerate(chance.sample(_TOPICS, 6)):
        one, other = chance.sample(_NAMES, 2)
        author = f"{one}, {chance.choice('ABCDE')}." + (f" & {other}, {chance.choice('ABCDE')}." if number % 2 else "")
        title = f"{topic} and the regions: a survey of {chance.choice(('towns', 'counties', 'ports'))}"
        place = f"{topic.split()[0].lower()}-{number}"
        works.append(Work(author, 2001 + number, title, f"https://{place}.example.org/papers/{chance.randint(10, 99)}"))
    return works


def _write(found: Planted, style: str, text: str, cited: list[Work], order: list[Work], chance: random.Random) -> None:
    numbers = [order.index(each) + 1 for each in cited]
    plain, stop = text[:-1], text[-1]
    block = Block("p", [Piece(text)])
    found.blocks.append(block)
    match style:
        case "numbered":
            mark = f"[{', '.join(map(str, numbers))}]" if chance.random() < 0.5 else "".join(f"[{n}]" for n in numbers)
            block.pieces = [Piece(f"{plain} {mark}{stop}")]
        case "footnotes":
            block.pieces += [Piece(str(n), "note") for n in numbers]
        case "superscripts":
            block.pieces = [Piece(text), Piece(",".join(map(str, numbers)), "sup")]
        case "links":
            block.pieces = [Piece(f"{plain} (")]
            for place, each in enumerate(cited):
                block.pieces += [*([Piece("; ")] if place else []), Piece(each.title, "link", each.url)]
            block.pieces.append(Piece(f"){stop}"))
        case "author_year":
            block.pieces = [Piece(f"{plain} ({'; '.join(f'{each.short}, {each.year}' for each in cited)}){stop}")]
        case "source_lines":
            found.blocks.append(Block("p", [Piece(f"Source: {'; '.join(each.entry for each in cited)}")]))
        case "chat_titles":
            block.pieces.append(Piece("".join(f"【{n}†{each.title}】" for n, each in zip(numbers, cited, strict=True))))
        case "chat_sites":
            for each in cited:
                site = each.url.split("/")[2]
                block.pieces += [Piece(" ("), Piece(site, "link", each.url), Piece(")")]


def _listed(found: Planted, style: str, order: list[Work]) -> None:
    if style in ("links", "source_lines", "chat_sites"):
        return
    heading = {"footnotes": "Notes", "author_year": "Bibliography", "chat_titles": "Sources"}.get(style, "References")
    found.blocks.append(Block("h", [Piece(heading)]))
    for number, each in enumerate(order, 1):
        kind = {"footnotes": "note", "author_year": "p"}.get(style, "li")
        found.blocks.append(Block(kind, [Piece(each.entry)], str(number)))


def written(report: Planted, kind: str) -> bytes:
    """Return the report as a file."""
    return {"md": _markdown, "html": _html, "docx": _docx, "pdf": _pdf}[kind](report)


def _markdown(report: Planted) -> bytes:
    lines = []
    for number, block in enumerate(report.blocks):
        text = ""
        for piece in block.pieces:
            match piece.kind:
                case "note":
                    text += f"[^{piece.text}]"
                case "sup":
                    text += piece.text.translate(_RAISED)
                case "link":
                    text += f"[{piece.text}]({piece.href})"
                case _:
                    text += piece.text
        lead = {"h": "## " if number else "# ", "li": f"{block.label}. ", "note": f"[^{block.label}]: "}.get(
            block.kind, ""
        )
        lines.append(lead + text)
    return "\n\n".join(lines).encode()


def _html(report: Planted) -> bytes:
    body = ""
    for number, block in enumerate(report.blocks):
        inner = ""
        for piece in block.pieces:
            text = escape(piece.text)
            match piece.kind:
                case "note":
                    inner += f'<sup><a href="#fn{text}">{text}</a></sup>'
                case "sup":
                    inner += f"<sup>{text}</sup>"
                case "link":
                    inner += f'<a href="{escape(piece.href)}">{text}</a>'
                case _:
                    inner += text
        tag = {"h": "h2" if number else "h1", "p": "p"}.get(block.kind, "")
        body += f"<{tag}>{inner}</{tag}>\n" if tag else f'<ol start="{block.label}"><li>{inner}</li></ol>\n'
    return f"<!doctype html><html><head><title>Report</title></head><body><nav>Home</nav>{body}</body></html>".encode()


def _docx(report: Planted) -> bytes:
    import docx

    document = docx.Document()
    for number, block in enumerate(report.blocks):
        if block.kind == "h":
            document.add_heading(block.pieces[0].text, 2 if number else 1)
            continue
        paragraph = document.add_paragraph(f"[{block.label}] " if block.kind in ("li", "note") else "")
        for piece in block.pieces:
            if piece.kind == "link":
                _hyperlink(paragraph, piece)
            else:
                paragraph.add_run(piece.text).font.superscript = piece.kind in ("sup", "note")
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


def _hyperlink(paragraph: Any, piece: Piece) -> None:
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    link = OxmlElement("w:hyperlink")
    link.set(qn("r:id"), paragraph.part.relate_to(piece.href, RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
    run, text = OxmlElement("w:r"), OxmlElement("w:t")
    text.text = piece.text
    run.append(text)
    link.append(run)
    paragraph._p.append(link)


def _pdf(report: Planted) -> bytes:
    import matplotlib
    from fpdf import FPDF

    pdf = FPDF()
    pdf.add_page()
    pdf.add_font("body", "", Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf")
    for block in report.blocks:
        if block.kind == "h":
            pdf.set_font("body", size=16)
            pdf.write(9, block.pieces[0].text)
            pdf.ln(12)
            continue
        pdf.set_font("body", size=11)
        if block.kind in ("li", "note"):
            pdf.write(6, f"{block.label}. ")
        for piece in block.pieces:
            if piece.kind in ("sup", "note"):
                pdf.char_vpos = "SUP"
                pdf.write(6, piece.text)
                pdf.char_vpos = "LINE"
            else:
                pdf.write(6, piece.text.translate(_SQUARE), piece.href)
        pdf.ln(9)
    return bytes(pdf.output())

"""Which questions are asked, and over which documents."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Final

import streamlit as st
from msgspec import Struct
from msgspec.structs import replace
from streamlit.typing import UploadedFile

from pages.parts.language import later, t
from pages.parts.safe import plain
from pages.parts.words import apart, count
from research import users
from research.errors import REFUSED, ConfigError
from research.evaluation import Corpus, Dataset, Question, load, open_corpus
from research.evaluation.datasets import BUILT_IN, SPLITS
from research.workbench import Workbench

OWN: Final = "own"
"""The choice of a file of one's own."""
NAMES: Final = {
    "factbook": later("World Factbook, English"), "factbook-zh": later("World Factbook, Chinese"),
    "almanac": later("Almanac, English"), "almanac-zh": later("Almanac, Chinese"), OWN: later("A file of my own"),
}  # fmt: skip
ABOUT: Final = {
    "factbook": later("Figures of countries, asked in English and searched in the library's Factbook."),
    "factbook-zh": later("Figures of countries, asked in Chinese and searched in 660 documents made for it."),
    "almanac": later("Questions that take two or three articles of an invented encyclopaedia, 276 in English."),
    "almanac-zh": later("Questions that take two or three articles of an invented encyclopaedia, 60 in Chinese."),
}
SPLIT: Final = {"dev": later("for trying"), "held": later("kept for the end")}
FIRST: Final = 10
"""Questions that are asked unless more are wanted."""
LARGEST_MB: Final = 100


class Chosen(Struct, frozen=True):
    """Questions, and where the recipes search."""

    name: str
    """What an evaluation of them is called."""
    questions: tuple[Question, ...]
    dataset: Dataset
    documents: Path | bytes | None = None
    """A path, or the content of a file, of documents that are searched alone; None: those of the dataset."""

    def corpus(self, home: Path) -> Corpus:
        """Writes what has to be searched.  Raises `ConfigError`."""
        if isinstance(self.documents, bytes):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "documents.jsonl"
                path.write_bytes(self.documents)
                try:
                    return open_corpus(home, self.dataset.name, self.dataset.documents, path)
                except REFUSED as error:
                    raise ConfigError(str(error).replace(str(path), "documents")) from error
        return open_corpus(home, self.dataset.name, self.dataset.documents, self.documents)


def draw(bench: Workbench) -> Chosen | None:
    """The choices; None as long as no question is known, which is said."""
    st.session_state.setdefault("evaluate-dataset", BUILT_IN[0])
    options = [*BUILT_IN, OWN]
    name = st.selectbox(
        t("Questions"), options, key="evaluate-dataset", persist_state="session",
        format_func=apart(options, lambda each: t(NAMES[each]) if each in NAMES else each),
    )  # fmt: skip
    if name == OWN:
        return _own(bench)
    if name in ABOUT:
        st.caption(t(ABOUT[name]))
    st.session_state.setdefault("evaluate-split", SPLITS[0])
    split = st.segmented_control(
        t("Part"), list(SPLITS), key="evaluate-split", required=True, persist_state="session",
        format_func=lambda each: f"{each} · {t(SPLIT[each])}",
    ) or SPLITS[0]  # fmt: skip
    if split == "held":
        st.warning(
            t(
                "Look at its figures, not at its questions: what is changed after looking is not measured by it any more."
            ),
            title=t("This part is for the end"),
        )
    with st.spinner(t("Reading the questions")):
        dataset = _built_in(name, split)
    return Chosen(f"{dataset.name} {split}", _first(dataset, f"{name}-{split}"), dataset)


def _first(dataset: Dataset, key: str) -> tuple[Question, ...]:
    """How many of them are asked."""
    most = len(dataset.questions)
    st.session_state.setdefault(f"evaluate-limit-{key}", min(FIRST, most))
    limit = st.number_input(
        t("How many, of {n}", n=f"{most:,}"), 1, most, key=f"evaluate-limit-{key}", persist_state="session",
        help=t("The first ones, in their order. The more there are, the smaller the differences that can be seen."),
    )  # fmt: skip
    return dataset.questions[: int(limit)]


def _own(bench: Workbench) -> Chosen | None:
    """A file and its documents, uploaded or named by their paths."""
    ways = {"upload": t("Upload"), "path": t("Path on this computer")}
    if bench.settings.user and not bench.settings.allow_folders:
        ways.pop("path")
    st.session_state.setdefault("evaluate-way", "upload")
    way = st.segmented_control(
        t("Where the file is"), list(ways), key="evaluate-way", required=True, format_func=ways.__getitem__,
        persist_state="session",
    )  # fmt: skip
    st.caption(
        t('A line for each question: `{"id": …, "question": …, "answer": …, "gold": [ids of documents]}`. Files of HotpotQA '
          "and SQuAD are read as they are published.")
    )  # fmt: skip
    try:
        return _by_path(bench) if way == "path" else _uploaded()
    except REFUSED as error:
        st.error(plain(str(error)), title=t("The questions cannot be read"))
        return None


def _uploaded() -> Chosen | None:
    file: UploadedFile | None = st.file_uploader(
        t("File of questions"), ["jsonl", "json"], key="evaluate-file", max_upload_size=LARGEST_MB
    )
    documents: UploadedFile | None = st.file_uploader(
        t("Documents to search, if the file brings none"), ["jsonl", "json"], key="evaluate-documents",
        max_upload_size=LARGEST_MB,
        help=t('A line for each: `{"id": …, "title": …, "text": …}`. Without them the library is searched.'),
    )  # fmt: skip
    if file is None:
        st.caption(t("Choose a file of questions to go on."))
        return None
    content = file.getvalue()
    dataset = _read(Path(file.name).name, hashlib.sha256(content).hexdigest(), content)
    return _told(dataset, documents.getvalue() if documents else None, file.file_id)


def _by_path(bench: Workbench) -> Chosen | None:
    path = st.text_input(
        t("File of questions"), key="evaluate-path", placeholder="/home/me/questions.jsonl", persist_state="session"
    ).strip()
    documents = st.text_input(
        t("Documents to search, if the file brings none"), key="evaluate-documents-path", persist_state="session",
        placeholder="/home/me/documents",
        help=t('A folder, or a file of `{"id": …, "title": …, "text": …}`. Without them the library is searched.'),
    ).strip()  # fmt: skip
    if not path:
        st.caption(t("Name a file of questions to go on."))
        return None
    dataset = load(str(users.readable(bench.settings, Path(path))))
    return _told(dataset, users.readable(bench.settings, Path(documents)) if documents else None, path)


def _told(dataset: Dataset, documents: Path | bytes | None, key: str) -> Chosen:
    """What was found in the file."""
    if documents is None and dataset.documents is not None:
        searched = t(
            "with {documents} of its own, which alone are searched", documents=count(len(dataset.documents), "document")
        )
    elif documents is None:
        searched = t("searched in the library")
    else:
        searched = t("searched in the documents given")
    st.caption(
        t("{name}: {questions}, {searched}.", name=plain(dataset.name), questions=count(len(dataset.questions), "question"),
          searched=searched)
    )  # fmt: skip
    return Chosen(dataset.name[:50], _first(dataset, key), dataset, documents)


@st.cache_resource(show_spinner=False, max_entries=8)
def _built_in(name: str, split: str) -> Dataset:
    return load(name, split)


@st.cache_resource(show_spinner=False, max_entries=4)
def _read(name: str, digest: str, _content: bytes) -> Dataset:
    """An uploaded file; its own name stands in what is said of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"questions{Path(name).suffix}"
        path.write_bytes(_content)
        try:
            return replace(load(str(path)), name=" ".join(Path(name).stem.replace("/", " ").split()) or "questions")
        except REFUSED as error:
            raise ConfigError(str(error).replace(str(path), name)) from error

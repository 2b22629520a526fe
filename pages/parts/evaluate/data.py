"""The questions of an evaluation, and the documents they are searched in."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Final

import streamlit as st
from msgspec import Struct
from msgspec.structs import replace
from streamlit.typing import UploadedFile

from pages.parts.shared import files
from pages.parts.shared.language import current, later, spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import count, unique_labels, when
from research.config import users
from research.errors import REFUSED, ConfigError
from research.evaluation import Corpus, Dataset, Question, load, open_corpus
from research.evaluation.datasets import BUILT_IN
from research.evaluation.questions import SPLITS
from research.evaluation.sets import Sets
from research.workbench.workbench import Workbench

OWN: Final = "own"
"""Option value for the user's own file."""
SAVED: Final = "set:"
"""How the option value of a saved set begins."""
NAMES: Final = {
    "factbook": later("World Factbook, English"),
    "factbook-zh": later("World Factbook, Chinese"),
    "almanac": later("Almanac, English"),
    "almanac-zh": later("Almanac, Chinese"),
    OWN: later("My own file"),
}
ABOUT: Final = {
    "factbook": later("Country figures, asked in English and searched in the library's Factbook."),
    "factbook-zh": later("Country figures, asked in Chinese and searched in 660 documents written for this set."),
    "almanac": later(
        "Questions that need two or three articles of an invented encyclopaedia; 276 articles in English."
    ),
    "almanac-zh": later(
        "Questions that need two or three articles of an invented encyclopaedia; 60 articles in Chinese."
    ),
}
SPLIT: Final = {"dev": later("practice set"), "held": later("hold-out set")}
FIRST: Final = 10
"""Default number of questions."""
LARGEST_MB: Final = 100


class Chosen(Struct, frozen=True):
    """The chosen questions and documents."""

    name: str
    """Default name of the evaluation."""
    questions: tuple[Question, ...]
    dataset: Dataset
    documents: Path | bytes | None = None
    """Path or content of a file of documents to search exclusively; None for the documents of the dataset."""

    def corpus(self, home: Path) -> Corpus:
        """Write the documents to search below the data folder and return their folder.

        Raises `ConfigError`.
        """
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
    """Draw the choices; return None, after saying why, while no question is available."""
    spoken_here = f"{BUILT_IN[0]}-{current()}"
    st.session_state.setdefault("evaluate-dataset", spoken_here if spoken_here in BUILT_IN else BUILT_IN[0])
    sets = Sets(bench.store)
    options = [*BUILT_IN, *(f"{SAVED}{each.name}" for each in sets.latest()), OWN]
    name = st.selectbox(
        t("Questions"),
        options,
        key="evaluate-dataset",
        persist_state="session",
        format_func=unique_labels(options, _called),
    )
    if name == OWN:
        return _own(bench)
    if name.startswith(SAVED):
        return _saved(sets, name.removeprefix(SAVED))
    if name in ABOUT:
        st.caption(t(ABOUT[name]))
    st.session_state.setdefault("evaluate-split", SPLITS[0])
    split = (
        st.segmented_control(
            t("Split"),
            list(SPLITS),
            key="evaluate-split",
            required=True,
            persist_state="session",
            format_func=lambda each: t(SPLIT[each]),
        )
        or SPLITS[0]
    )
    if split == "held":
        st.warning(
            t("Look at its scores, not at its questions: once you tune to them, it no longer measures anything."),
            title=t("This is the hold-out set"),
        )
    with st.spinner(t("Reading the questions")):
        dataset = _built_in(name, split)
    named = t("{name}: {value}", name=_called(name), value=t(SPLIT[split]))
    return Chosen(named, _first(dataset, f"{name}-{split}"), dataset)


def _called(name: str) -> str:
    if name.startswith(SAVED):
        return t("Set: {name}", name=name.removeprefix(SAVED))
    return t(NAMES[name]) if name in NAMES else name


def _saved(sets: Sets, name: str) -> Chosen:
    """Draw the versions of a saved set, and return the chosen one."""
    history = sets.history(name)
    version = st.selectbox(
        t("Version"),
        [each.version for each in history],
        key=f"evaluate-version-{name}",
        format_func={each.version: f"{when(each.created)} · {each.note} · {each.version}" for each in history}.get,
        help=t("Each change of the set is a version of its own; earlier ones can still be evaluated."),
    )
    dataset = sets.load(f"{name}@{version}")
    return _told(dataset, None, f"{name}-{version}")


def _first(dataset: Dataset, key: str) -> tuple[Question, ...]:
    """Draw the number of questions to use."""
    most = len(dataset.questions)
    st.session_state.setdefault(f"evaluate-limit-{key}", min(FIRST, most))
    limit = st.number_input(
        t("How many (of {n})", n=f"{most:,}"),
        1,
        most,
        key=f"evaluate-limit-{key}",
        persist_state="session",
        help=t("Taken from the start of the file. More questions reveal smaller differences."),
    )
    return dataset.questions[: int(limit)]


def _own(bench: Workbench) -> Chosen | None:
    """Draw the inputs for a file and its documents, uploaded or named by path."""
    ways = {"upload": t("Upload"), "path": t("Path on this computer")}
    if bench.settings.user and not bench.settings.allow_folders:
        ways.pop("path")
    st.session_state.setdefault("evaluate-way", "upload")
    way = st.segmented_control(
        t("Where the file is"),
        list(ways),
        key="evaluate-way",
        required=True,
        format_func=ways.__getitem__,
        persist_state="session",
    )
    st.caption(
        t(
            'One question per line: `{"question": …, "answer": …, "gold": [ids of documents]}`, or a CSV table with '
            "these columns; only the question is required. HotpotQA, SQuAD, SimpleQA, BrowseComp, GAIA, FRAMES, xbench, "
            "DeepResearch Bench and DRACO files work as published."
        )
    )
    try:
        return _by_path(bench) if way == "path" else _uploaded()
    except REFUSED as error:
        st.error(plain(spoken(error)), title=t("The questions can't be read"))
        return None


def _uploaded() -> Chosen | None:
    file: UploadedFile | None = files.pick(
        t("Question file"), ["jsonl", "json", "csv", "tsv"], LARGEST_MB, key="evaluate-file"
    )
    documents: UploadedFile | None = files.pick(
        t("Documents to search, if the file contains none"),
        ["jsonl", "json"],
        LARGEST_MB,
        key="evaluate-documents",
        help=t('One document per line: `{"id": …, "title": …, "text": …}`. If empty, the library is searched.'),
    )
    if file is None:
        st.caption(t("Choose a question file to continue."))
        return None
    content = file.getvalue()
    dataset = _read(Path(file.name).name, hashlib.sha256(content).hexdigest(), content)
    return _told(dataset, documents.getvalue() if documents else None, file.file_id)


def _by_path(bench: Workbench) -> Chosen | None:
    path = st.text_input(
        t("Question file"), key="evaluate-path", placeholder="/home/me/questions.jsonl", persist_state="session"
    ).strip()
    documents = st.text_input(
        t("Documents to search, if the file contains none"),
        key="evaluate-documents-path",
        persist_state="session",
        placeholder="/home/me/documents",
        help=t(
            'A folder, or a file with one `{"id": …, "title": …, "text": …}` per line. If empty, the library '
            "is searched."
        ),
    ).strip()
    if not path:
        st.caption(t("Enter the path of a question file to continue."))
        return None
    dataset = load(str(users.readable(bench.settings, Path(path))))
    return _told(dataset, users.readable(bench.settings, Path(documents)) if documents else None, path)


def _told(dataset: Dataset, documents: Path | bytes | None, key: str) -> Chosen:
    """Draw a summary of what the file contains."""
    if documents is None and dataset.documents is not None:
        searched = t("searched only in its own {documents}", documents=count(len(dataset.documents), "document"))
    elif documents is None:
        searched = t("searched in the library")
    else:
        searched = t("searched in the given documents")
    st.caption(
        t(
            "{name}: {questions}, {searched}.",
            name=plain(dataset.name),
            questions=count(len(dataset.questions), "question"),
            searched=searched,
        )
    )
    for note in dataset.notes:
        st.caption(plain(note))
    return Chosen(dataset.name[:50], _first(dataset, key), dataset, documents)


@st.cache_resource(show_spinner=False, max_entries=8)
def _built_in(name: str, split: str) -> Dataset:
    return load(name, split)


@st.cache_resource(show_spinner=False, max_entries=4)
def _read(name: str, digest: str, _content: bytes) -> Dataset:
    """Parse an uploaded file; error messages use its original name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"questions{Path(name).suffix}"
        path.write_bytes(_content)
        try:
            return replace(load(str(path)), name=" ".join(Path(name).stem.replace("/", " ").split()) or "questions")
        except REFUSED as error:
            raise ConfigError(str(error).replace(str(path), name)) from error

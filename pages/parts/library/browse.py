"""One collection: its documents as a list or a map, and the files that could not be read."""

from __future__ import annotations

from urllib.parse import unquote

import streamlit as st

from pages.parts.library import collections
from pages.parts.shared import account, address, paging
from pages.parts.shared import map as plot
from pages.parts.shared.language import current, spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.table import frame
from pages.parts.shared.words import count, when
from research._util.retold import retold
from research.defaults import FACTBOOK, PAGES
from research.errors import ConfigError
from research.search.library.documents import Library
from research.search.library.listings import CollectionInfo, Spot
from research.workbench.workbench import Workbench

PAGE = 200
_BACK = ":material/arrow_back:"


def head(bench: Workbench, name: str, *, searching: bool) -> CollectionInfo | None:
    """Draw the way back, the title and the size of the collection with that name, or an error if it does not exist.

    `searching` says that its matches are shown instead of its list, to which the way back leads.
    """
    if searching:
        address.link(t("Back to {name}", name=plain(collections.title(name))), "library-back", _BACK, q="")
    else:
        address.link(t("Whole library"), "library-all", _BACK, collection="", title="", page="", view="")
    info = next((each for each in bench.library.collections() if each.name == name), None)
    if info is None:
        st.error(
            t("The library has no collection {name}. It may have been removed.", name=plain(name)),
            title=t("Collection not found"),
        )
        return None
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container(width="stretch", gap="xxsmall"):
            st.title(plain(collections.title(name)), anchor=False)
            st.caption(collections.numbers(info))
            if name == PAGES:
                st.caption(
                    t("Copies of the public web pages that your runs have read. Settings › Defaults turns this off.")
                )
            elif name != FACTBOOK:
                st.caption(plain(name))
        if name != FACTBOOK:
            collections.actions(bench, name)
    return info


def draw(bench: Workbench, info: CollectionInfo) -> None:
    """Draw the documents of a collection as a list or a map, and its files that were not read."""
    if info.name == PAGES:  # without vectors, which a map needs, and files, which may be unreadable
        _list(bench.library, info)
        return
    collections.index_progress(info)
    if info.missing:
        collections.note_on_index()
    key = address.shows("library-view", "map" if st.query_params.get("view") == "map" else "list")
    views = {"list": t("List"), "map": t("Map")}
    st.segmented_control(
        t("View"),
        list(views),
        key=key,
        format_func=views.__getitem__,
        required=True,
        label_visibility="collapsed",
        on_change=address.changed,
        args=(key, _viewed),
    )
    if st.query_params.get("view") == "map":
        _map(bench.library, info)
    else:
        _list(bench.library, info)
    _left_out(bench.library, info.name)


def _list(library: Library, info: CollectionInfo) -> None:
    wanted = st.query_params.get("title", "")
    if wanted:
        address.link(t("All documents"), "library-titles", ":material/close:", title="", page="")
    number = paging.number()
    found = library.documents(info.name, wanted, PAGE + 1, number * PAGE)
    shown = found[:PAGE]
    if not shown:
        st.caption(t("No title contains {words}.", words=f"“{plain(wanted)}”") if wanted else t("No documents here."))
        return
    key = f"library-documents-{info.name}-{wanted}-{number}"
    columns: dict[str, list[str] | list[int]] = {}
    if info.name not in (PAGES, FACTBOOK):
        columns["Kind"] = [collections.kind(each.url) for each in shown]  # first, to be seen on a phone
    columns["Document"] = [each.title for each in shown]
    if info.name == PAGES:
        columns["Address"] = [each.url for each in shown]
    elif info.name != FACTBOOK:
        columns["File"] = [unquote(each.url).split("/", 3)[-1] for each in shown]
    columns["Passages"] = [each.passages for each in shown]
    columns["Characters"] = [each.characters for each in shown]
    if any(each.modified for each in shown):
        columns["Changed"] = [when(each.modified) for each in shown]
    st.dataframe(
        frame(columns),
        column_config={
            "Document": st.column_config.TextColumn(t("Document"), width="large"),
            "Address": st.column_config.TextColumn(t("Address"), width="large"),
            "File": st.column_config.TextColumn(t("File"), width=280),
            "Kind": st.column_config.TextColumn(t("Kind"), width=60),
            "Passages": st.column_config.NumberColumn(t("Passages"), format="localized", width=95),
            "Characters": st.column_config.NumberColumn(t("Characters"), format="localized", width=95),
            "Changed": st.column_config.TextColumn(
                t("Last read") if info.name == PAGES else t("Last changed"), width=150
            ),
        },
        hide_index=True,
        key=key,
        on_select=_picked,
        selection_mode=["single-row", "single-cell"],
        alt=t("Documents in this collection, by title"),
    )
    st.session_state["library-listed"] = key, [each.url for each in shown]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(t("Select a row to read the document."), width="stretch")
        if number or len(found) > PAGE:
            place = t("{first} to {last}", first=f"{number * PAGE + 1:,}", last=f"{number * PAGE + len(shown):,}")
            st.caption(place, width="content")
            paging.buttons("library", t("Previous"), t("Next"), len(found) > PAGE)


def _map(library: Library, info: CollectionInfo) -> None:
    """Draw the documents as points; similar ones are close, and a click opens one."""
    if not info.vectors:
        st.caption(t("The map needs the semantic index, which isn't ready yet."))
        return
    with st.spinner(t("Drawing the map")):
        who = account.person()
        spots = _spots(library, who.key if who else "", info.name, info.vectors)
    points = [plot.Point(spot.url, spot.x, spot.y, spot.title, _group(info.name, spot)) for spot in spots]
    clicked = plot.draw(points, f"library-map-{info.name}")
    shown = count(len(spots), "document")
    if len(spots) < info.documents:
        st.caption(
            t(
                "A sample of {shown} out of {total}. Similar documents sit close together.",
                shown=shown,
                total=f"{info.documents:,}",
            )
        )
    else:
        st.caption(t("{shown}. Similar documents sit close together.", shown=shown))
    if clicked:
        st.query_params["doc"] = clicked
        st.rerun()


@st.cache_data(show_spinner=False, max_entries=8)
def _spots(_library: Library, user: str, name: str, vectors: int) -> list[Spot]:
    return _library.spots(name)


def _group(collection: str, spot: Spot) -> str:
    """Return the section of the Factbook, or the subfolder."""
    if collection == FACTBOOK:
        return spot.title.rpartition(" · ")[2]
    return "/".join(unquote(spot.url).split("/")[3:-1]) or t("top folder")


def _left_out(library: Library, name: str) -> None:
    """List the files that were not read, or not as a whole."""
    try:
        failed, partial = library.unreadable(name), library.partial(name)
    except ConfigError:
        return  # removed meanwhile
    if failed:
        with st.expander(t("{files} could not be read", files=count(len(failed), "file")), icon=":material/warning:"):
            for path, reason in failed:
                st.markdown(f"{plain(spoken(f'{path.name} {reason}'))}  \n:small[:gray[{plain(str(path))}]]")
    if partial:
        files = count(len({file for file, _ in partial}), "file")
        with st.expander(t("{files} read in part", files=files), icon=":material/info:"):
            for file, note in partial:
                st.markdown(f"{plain(file)} — {plain(retold(note, current()))}")


def _viewed(view: str) -> None:
    address.put("view", "map" if view == "map" else "")


def _picked() -> None:
    key, urls = st.session_state["library-listed"]
    state = st.session_state[key]["selection"]
    places = [*state["rows"], *(cell[0] for cell in state["cells"])]
    if places:
        address.put("doc", urls[places[0]])

"""The rooms of research/: their imports and sizes, and that only a framework's own file contains its name."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from research import defaults, plugins

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "research"
MODULES = sorted(PACKAGE.rglob("*.py"))

LAYERS = [
    {"errors", "types", "text", "defaults"},
    {"_util", "plugins", "sandbox", "quantities", "citations", "events", "parsing", "prompts"},
    {"store", "protocols"},
    {"config", "ops"},
    {"web"},
    {"search", "search.embedders", "search.library", "search.services"},
    {"models", "models.extractive", "models.llama"},
    {"memory", "mcp", "auditing"},
    {"agent", "tools"},
    {"frameworks", "contexts", "engine"},
    {"workbench"},
    {"compare", "evaluation", "exports", "servers"},
    {"cli", "__main__", "research"},
]  # fmt: skip
"""The rooms, lower layers first.  Rooms of one layer may import each other, in one direction."""

PLACES_OF_NAMES = {"defaults.py", "workbench/presets.py", "parsing/__init__.py"}
"""Data that names frameworks: defaults, presets, and the formats of the command `parse`."""
MODELS = ("extractive", "gguf", "scripted")
"""Providers whose names mean nothing else; `openai` and `anthropic` are also protocols, and worlds are `recorded`, too."""
PLACES_OF_MODELS = {"defaults.py", "_util/extras.py"}
"""Data that names models: the default, and the packages of an extra that has the same name."""

CORE = ("agent/", "web/", "frameworks/", "contexts/")
"""Where a tool is known by its traits alone."""
ARGUMENTS_OF_TOOLS = {
    "agent/recorded_world.py": "arguments that are compared without case",
    "agent/tool_calls.py": "equal queries are equal calls",
    "frameworks/audit.py": "the argument of a search",
    "frameworks/rewoo.py": "a plan's arguments are made to fit",
}
"""Where `query` is an argument, and why."""


KNOWN_TWICE = {
    "audit.py": "a command, and a framework",
    "gateway.py": "a command, and a framework",
    "host.py": "what a model, and what a tool, of another package imports",
    "run.py": "a command, and what a framework of another package imports",
}
"""File names that occur twice, and why."""


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Every node of a file's syntax tree, the module first."""
    return [*ast.walk(ast.parse(path.read_text("utf-8")))]


def name_of(path: Path) -> str:
    """The dotted name of a module below `research`; `research` itself is the empty name."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path): path for path in MODULES}
PACKAGES = {name for name, path in NAMES.items() if name and path.name == "__init__.py"}


def room_of(name: str) -> str:
    """The folder of a module, or the module itself at the top."""
    if not name or NAMES[name].name == "__init__.py":
        return name or "research"
    return name.rpartition(".")[0] or name


@cache
def imported(path: Path) -> set[str]:
    """Every name that a file imports: at its top, in functions, for type checking, and by `import_module` of a literal."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports are absolute"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            found |= {str(node.args[0].value)} if called in ("import_module", "__import__") else set()
    return found


def imports(path: Path) -> set[str]:
    """Every module of `research` that a file imports."""
    below = {each.removeprefix("research").lstrip(".") for each in imported(path) if each.split(".")[0] == "research"}
    return {each if each in NAMES else each.rpartition(".")[0] for each in below} - {name_of(path)}


def circles(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """Return an import cycle, if there is one."""
    sorter = TopologicalSorter(arrows)
    try:
        sorter.prepare()
    except CycleError as error:
        return [error.args[1]]
    return []


def test_every_import_is_seen_wherever_it_is(tmp_path: Path) -> None:
    lines = (
        "import a",
        "if TYPE_CHECKING:\n    from b import c",
        "def f():\n    from d import e\n    return import_module('g')",
    )
    (tmp_path / "module.py").write_text("\n".join([*lines, "importlib.import_module('h.i')"]), "utf-8")
    assert imported(tmp_path / "module.py") == {"a", "b.c", "d.e", "g", "h.i"}


def test_imports_go_down_and_have_no_cycles() -> None:
    layer = {room: number for number, rooms in enumerate(LAYERS) for room in rooms}
    arrows = {name: imports(path) for name, path in NAMES.items()}
    rooms: dict[str, set[str]] = {}
    folders: dict[str, set[str]] = {}
    up = []
    for name, targets in arrows.items():
        for target in targets:
            one, other = room_of(name), room_of(target)
            if one != other:
                rooms.setdefault(one, set()).add(other)
                folders.setdefault(one.split(".")[0], set()).update({other.split(".")[0]} - {one.split(".")[0]})
                if layer[one] < layer[other]:
                    up.append(f"{name} -> {target}")
    assert up == []
    assert circles(arrows) == [], "an import cycle of files"
    assert circles(rooms) == [], "an import cycle of rooms"
    assert circles(folders) == [], "an import cycle of folders with all that is in them"
    assert len(rooms.keys() & PACKAGES) <= 35
    assert sum(len(rooms[room] & PACKAGES) for room in rooms.keys() & PACKAGES) <= 220


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the parameters of a function.  `Annotated` ones declare the options of a plug-in, which the pages offer."""
    found = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    options = [each for each in found if each.annotation and ast.unparse(each.annotation).startswith("Annotated[")]
    return len([each for each in found if each.arg not in ("self", "cls")]) - len(options)


def test_rooms_classes_and_functions_stay_small() -> None:
    rooms = {room_of(name) for name in NAMES}
    assert rooms <= set().union(*LAYERS)
    assert len(list(PACKAGE.glob("*.py"))) <= 8
    long = []
    for path in [*MODULES, *(ROOT / "pages").rglob("*.py")]:
        for node in nodes(path):
            limit = 250 if isinstance(node, ast.ClassDef) else 60
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                long += [f"{path}: {node.name} has {lines} lines"] if lines > limit else []
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (count := parameters(node)) > 6:
                long.append(f"{path}: {node.name} has {count} parameters")
    assert long == []
    skipped = sum(path.read_text("utf-8").count("# fmt: skip") for path in [*MODULES, *(ROOT / "pages").rglob("*.py")])
    assert skipped <= 20


def test_a_files_name_occurs_once() -> None:
    counted = Counter(path.name for path in MODULES if path.name != "__init__.py")
    assert {name for name, count in counted.items() if count > 1} == KNOWN_TWICE.keys()


def test_every_room_has_a_short_docstring() -> None:
    """At most three lines, or six where `__init__` contains code."""
    wrong = []
    for name, path in NAMES.items():
        if path.name == "__init__.py" and name:
            tree = nodes(path)[0]
            assert isinstance(tree, ast.Module)
            lines = (ast.get_docstring(tree) or "").splitlines()
            if not lines or len(lines) > (3 if len(tree.body) == 1 else 6):
                wrong.append(f"{name}: {len(lines)} lines")
    assert wrong == []


def test_only_a_frameworks_own_file_contains_its_name() -> None:
    assert naming(defaults.FRAMEWORKS, "frameworks/", PLACES_OF_NAMES) == []


def test_only_a_models_own_file_contains_its_name() -> None:
    """All others ask for a trait of its provider."""
    assert naming(MODELS, "models/", PLACES_OF_MODELS) == []


def test_no_tools_name_is_in_the_core() -> None:
    """It asks for the traits of a tool, so that another package's is like ours."""
    ids = [each.id for each in plugins.tool.all() if not each.package]
    found = [each for each in naming(ids, "tools/", set()) if each.startswith(CORE)]
    assert {each for each in found if each.partition(":")[0] not in ARGUMENTS_OF_TOOLS} == set()
    assert set(found) == {f"{place}: 'query'" for place in ARGUMENTS_OF_TOOLS}


def test_a_providers_room_is_imported_by_its_own_file_only() -> None:
    """The core reads an answer of the offline model as that of any other."""
    for room in (each for each in set(map(room_of, NAMES)) if each.startswith("models.")):
        users = {name for name, path in NAMES.items() if any(room_of(used) == room for used in imports(path))}
        assert {name for name in users if not name.startswith("models.")} == set(), room


def naming(ids: Sequence[str], room: str, places: set[str]) -> list[str]:
    """Return the strings with one of these ids, except in the room and the places that may have them."""
    names = re.compile(rf"\b({'|'.join(ids)})\b")
    offenders = []
    for path in [*MODULES, *(ROOT / "pages").rglob("*.py"), ROOT / "app.py"]:
        place = str(path.relative_to(PACKAGE)) if PACKAGE in path.parents else str(path.relative_to(ROOT))
        if place in places or place.startswith(room):
            continue
        strings = (node.value for node in nodes(path) if isinstance(node, ast.Constant) and isinstance(node.value, str))
        # A sentence with the word "parallel" is fine; a string that is nothing but an id is not.
        offenders += [
            f"{place}: {text!r}" for text in strings if re.fullmatch(r"[\w/:=]+", text) and names.search(text)
        ]
    return offenders


def test_only_the_pages_import_streamlit() -> None:
    offenders = [path for path in MODULES if any(name.split(".")[0] == "streamlit" for name in imported(path))]
    assert not offenders

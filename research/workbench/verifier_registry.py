"""The verifiers of this installation: opening them, measuring them on files of claims, and their measurements."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
from msgspec.structs import replace

from research._util import decoding, egress
from research.citations.judge import Inquiry, ModelVerifier
from research.citations.judges import Judges
from research.citations.verification import CROSS_ENCODER, MODEL, RULES, Pair, Rules, Thresholds, Verifier, check_name
from research.config.settings import Settings
from research.errors import ConfigError
from research.models import bounded, host
from research.types import Model, Request
from research.workbench import endpoint_registry
from research.workbench.calibration import Calibration, Sample, calibrate

FILE: Final = "verifiers.json"
"""The file in the home folder with the measurements."""
TRUE: Final = ("supported", "calculated", "true", "entailment", "supports")
FALSE: Final = ("contradicted", "unsupported", "partial", "partially_supported", "not_supported", "not_stated", "false",
                "refuted", "refutes", "contradiction", "neutral", "not_enough_info")  # fmt: skip


class Host(host.Host, Protocol):
    """The parts of the open workbench that verifiers need."""

    def model(self, name: str) -> Model: ...


def open_judges(bench: Host) -> Judges:
    """Return the judges for a workbench's runs; later measurements count at once."""
    return Judges(partial(open_verifier, bench), lambda name: _thresholds(bench.settings.home, name))


def _thresholds(home: Path, name: str) -> Thresholds | None:
    try:
        found = measured(home).get(name)
    except ConfigError:  # doctor reports the file; the careful thresholds apply
        return None
    return found.thresholds if found else None


def full_name(settings: Settings, name: str) -> str:
    """Return the name of a judge; a model's name alone means `model:NAME`.  Raises `ConfigError`."""
    known = name == RULES or name.startswith((CROSS_ENCODER, MODEL))
    if not known and name.partition(":")[0] in endpoint_registry.names(settings):
        name = MODEL + name
    check_name(name)
    return name


def open_verifier(bench: Host, name: str) -> Verifier:
    """Return the verifier of a name, such as `cross-encoder:PATH_OR_ID`.  Raises `ConfigError`."""
    name = full_name(bench.settings, name)
    if name == RULES:
        return Rules()
    if name.startswith(MODEL):
        model = bench.model(name.removeprefix(MODEL))
        return ModelVerifier(name.removeprefix(MODEL), partial(_ask, model))
    from research.models import cross_encoder

    given = name == bench.settings.verifier and not bench.settings.entered_by_user("verifier")
    if not given and (why := bench.settings.why_not_loaded(name)):
        raise ConfigError(why)
    return cross_encoder.open_verifier(name.removeprefix(CROSS_ENCODER))


def _ask(model: Model, inquiry: Inquiry) -> str:
    request = Request(inquiry.messages, purpose="verify", temperature=0.0, schema=inquiry.schema)
    return bounded.completion(model, request, egress.carried()).text


def samples(paths: Sequence[Path]) -> list[Sample]:
    """Read files of claims.  Raises `ConfigError` with the line that cannot be read.

    A line is `{"claim", "sources": [{"title", "text"}], "verdict"}`, or has `text` (a string or a list of them) instead of
    `sources`, and `true` or `label` instead of `verdict`.
    """
    found = []
    for path in paths:
        try:
            lines = path.read_bytes().splitlines()  # as bytes: JSON strings may contain other line breaks
        except OSError as error:
            raise ConfigError(f"claims file {path} cannot be read: {error}") from error
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    found.append(_sample(decoding.decode(line, dict[str, Any])))
                except (msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
                    why = f"lacks {error}" if isinstance(error, KeyError) else str(error)
                    raise ConfigError(f"claims file {path}, line {number}: {why}") from error
    if not found:
        raise ConfigError("there are no claims to measure the verifier with; give files of claims with --claims")
    return found


def _sample(row: dict[str, Any]) -> Sample:
    if "true" in row:
        true = row["true"]
        if not isinstance(true, bool):
            raise ValueError(f"field 'true' is {true!r}; expected true or false")
    else:
        verdict = str(row["verdict"] if "verdict" in row else row["label"]).lower()
        if verdict not in (*TRUE, *FALSE):
            raise ValueError(f"verdict {verdict!r}; known: {', '.join((*TRUE, *FALSE))}")
        true = verdict in TRUE
    return Sample(Pair(str(row["claim"]), tuple(_passages(row))), true)


def _passages(row: dict[str, Any]) -> Iterator[str]:
    if "sources" in row:
        for source in row["sources"]:
            yield f"{source.get('title', '')}\n{source['text']}"
        return
    text = row["text"] if "text" in row else row["passage"]
    yield "\n" + ("\n".join(map(str, text)) if isinstance(text, list) else str(text))


def measured(home: Path) -> dict[str, Calibration]:
    """Return each judge's measurements, by name.  Raises `ConfigError` if the file is damaged."""
    return decoding.saved(home / FILE, Calibration, "calibrate the verifiers again")


def measure(
    bench: Host, name: str, paths: Sequence[Path], limit: int | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Calibration:  # fmt: skip
    """Calibrate a verifier on files of claims and save the result in the home.  Raises `WorkbenchError`."""
    chosen = samples(paths)[:limit]
    verifier = open_verifier(bench, name)
    found = calibrate(verifier, chosen, lambda done: progress(done, len(chosen)))
    found = replace(found, files=tuple(path.name for path in paths), measured=time.time())
    home = bench.settings.home
    decoding.save(home / FILE, measured(home) | {verifier.name: found})
    return found


def configured(settings: Settings) -> str:
    """Return the judge of runs with the settings' own model; empty if only the rules judge."""
    if settings.judge == "off":
        return ""
    if settings.verifier:
        return full_name(settings, settings.verifier)
    return f"{MODEL}{settings.model}" if endpoint_registry.judges(settings, settings.model) else ""

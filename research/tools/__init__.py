"""Tools a model can call: one class per file.  A tool's JSON Schema is drawn from its signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from research.types import ToolOutput, ToolSpec


def spec_of(function: Callable[..., ToolOutput], name: str, description: str) -> ToolSpec:
    """The spec of a callable whose parameters are annotated, with `pydantic.Field` for their descriptions."""
    from pydantic import create_model

    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {
        parameter.name: (hints[parameter.name], ... if parameter.default is parameter.empty else parameter.default)
        for parameter in inspect.signature(function).parameters.values()
    }
    schema = create_model(name, **fields).model_json_schema()
    properties = {key: _plain(value) for key, value in schema["properties"].items()}
    return ToolSpec(name, description, {"type": "object", "properties": properties, "required": schema["required"]})


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """`int | None = None` as a plain optional integer: small models read it better, and every provider accepts it."""
    options = [option for option in value.get("anyOf", []) if option.get("type") != "null"]
    if len(options) == 1:
        value = {**value, **options[0]}
    return {key: part for key, part in value.items() if key not in ("anyOf", "title", "default")}

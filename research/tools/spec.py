"""`spec_of`: a tool's JSON Schema, derived from its signature."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any, get_type_hints

from research.types import ToolOutput, ToolSpec


def spec_of(function: Callable[..., ToolOutput], name: str, description: str, *, each: str = "") -> ToolSpec:
    """Return the spec of a callable whose parameters are annotated; `pydantic.Field` holds their descriptions.

    `each`: as in `ToolSpec`.
    """
    return ToolSpec(name, description, copy.deepcopy(_schema(getattr(function, "__func__", function))), each)


@lru_cache(maxsize=256)
def _schema(function: Callable[..., ToolOutput]) -> dict[str, Any]:
    from pydantic import create_model

    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {
        parameter.name: (hints[parameter.name], ... if parameter.default is parameter.empty else parameter.default)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "self"
    }
    schema = create_model("Arguments", **fields).model_json_schema()
    properties = {key: _plain(value) for key, value in schema["properties"].items()}
    return {"type": "object", "properties": properties, "required": schema.get("required", [])}


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """Return `int | None = None` as a plain optional integer, which every provider and small models understand."""
    options = [option for option in value.get("anyOf", []) if option.get("type") != "null"]
    if len(options) == 1:
        value = {**value, **options[0]}
    return {key: part for key, part in value.items() if key not in ("anyOf", "title", "default")}

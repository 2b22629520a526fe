"""Schemas of tools in the forms that services accept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from research.models.schemas import is_closed, subset


@pytest.mark.parametrize(
    ("given", "accepted"),
    [
        ({"type": ["string", "null"]}, {"nullable": True, "type": "string"}),
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 1},
            {"default": 1, "type": "integer", "nullable": True},
        ),
        ({"oneOf": [{"type": "string"}, {"const": 3}]}, {"anyOf": [{"type": "string"}, {"enum": [3]}]}),
        ({"type": "integer", "exclusiveMinimum": 0, "maximum": 9}, {"type": "integer", "maximum": 9}),
        ({"$ref": "#/$defs/Place", "description": "Where"}, {"type": "string", "description": "Where"}),
    ],
)
def test_keywords_that_openapi_does_not_know_are_translated(given: dict[str, Any], accepted: dict[str, Any]) -> None:
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": False,
        "properties": {"x": given, "list": {"type": "array", "items": given}}, "required": ["x"],
        "$defs": {"Place": {"type": "string"}},
    }  # fmt: skip
    expected = {"x": accepted, "list": {"type": "array", "items": accepted}}
    assert subset(whole) == {"type": "object", "properties": expected, "required": ["x"]}


def test_a_property_may_have_the_name_of_a_keyword() -> None:
    schema = {"type": "object", "properties": {"const": {"type": "string"}, "not": {"type": "string"}}}
    assert subset(schema) == schema


def test_a_definition_that_contains_itself_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    assert "$ref" not in json.dumps(subset({"$ref": "#/$defs/Node", "$defs": {"Node": node}}))


def test_only_closed_schemas_are_strict() -> None:
    closed = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert is_closed(closed)
    assert not is_closed(closed | {"required": []})
    assert not is_closed({"type": "array", "items": {"type": "object", "properties": {}}})

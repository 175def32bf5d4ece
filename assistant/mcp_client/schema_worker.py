"""Checks one value against one schema in a child process; run by `assistant.toolkit.processes`."""

from __future__ import annotations

import json

import jsonschema_rs


def work(task: bytes) -> bytes:
    """Return "fits" or "does not fit" for a JSON object with a `schema` and a `value`."""
    given = json.loads(task)
    validator = jsonschema_rs.validator_for(
        given["schema"], offline=True, validate_formats=False, pattern_options=jsonschema_rs.RegexOptions()
    )
    return b"fits" if validator.is_valid(given["value"]) else b"does not fit"

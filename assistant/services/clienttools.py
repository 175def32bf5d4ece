"""The tools that a request brings along, which its caller runs: within bounds: they are read on the loop."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tools import InvalidTool
from tools.schema_bounds import InvalidSchema, check_size

MAX_TOOLS = 128
# Of all their schemas together.
MAX_SCHEMAS_BYTES = 128_000


def check_sizes(schemas: Iterable[Any]) -> None:
    """Raises `InvalidTool` for schemas that are together too large to be read while others wait."""
    left = MAX_SCHEMAS_BYTES
    for schema in schemas:
        try:
            check_size(schema)
        except InvalidSchema as exc:
            raise InvalidTool(f"One has no proper JSON Schema: {exc}.") from None
        left -= len(json.dumps(schema))
        if left < 0:
            raise InvalidTool(f"Their JSON Schemas have more than {MAX_SCHEMAS_BYTES} bytes together.")

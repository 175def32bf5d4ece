"""The constants as `make bench ARGS=scale` stored them: their names, their wording in its report, and their values."""

from __future__ import annotations

import json

from benchmarks.report import KEPT
from benchmarks.scale.machines import Constants

# For each field of `Constants`: the title of its row, the factor from the field to the row, and the row's unit.
NAMES: dict[str, tuple[str, float, str]] = {
    "turn_cpu": ("CPU of a turn beside its tokens", 1e3, "ms"),
    "token_cpu": ("CPU of a token that comes by itself", 1e6, "us"),
    "socket_bytes": ("memory of an idle connection", 1e-3, "KB"),
    "socket_cpu": ("CPU of 1,000 idle connections", 1e5, "% of a core"),
    "run_bytes": ("memory of a run that streams, with its connection", 1e-3, "KB"),
    "process_bytes": ("memory of a process without connections", 1e-6, "MB"),
    "redis_commands": ("Redis commands of a token", 1, ""),
    "redis_bytes": ("bytes to and from Redis of a token", 1, "bytes"),
    "redis_cpu": ("CPU of Redis of a token", 1e6, "us"),
    "transactions": ("transactions of a turn", 1, ""),
    "database_cpu": ("CPU of PostgreSQL of a turn", 1e3, "ms"),
    "database_bytes": ("write-ahead log of a turn", 1e-3, "KB"),
}


def read() -> Constants:
    """Return the stored constants. Raises `FileNotFoundError` if they were never measured at full length."""
    kept = json.loads((KEPT / "scale.json").read_text())
    values = {line["what"]: line["value"] for section in kept["sections"] for line in section["lines"]}
    return Constants(**{name: values[what] / factor for name, (what, factor, _) in NAMES.items()})

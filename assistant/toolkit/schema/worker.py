"""The program of the child process that checks one value against one schema, both read as JSON from standard input.

It is run by its path and imports only the engine. Prints "fits" or "does not fit".
"""

from __future__ import annotations

import json
import resource
import sys

import jsonschema_rs

# A check that needs more memory ends only this process.
MAX_MEMORY = 1024**3


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    task = json.load(sys.stdin)
    validator = jsonschema_rs.validator_for(
        task["schema"], offline=True, validate_formats=False, pattern_options=jsonschema_rs.RegexOptions()
    )
    sys.stdout.write("fits" if validator.is_valid(task["value"]) else "does not fit")


if __name__ == "__main__":
    main()

"""The console script `tenant-assistant`: runs a command that an app of the wheel has given, by its name."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points, version

# The group of entry points in pyproject.toml: a function without arguments for each command, which reads `sys.argv`.
_GROUP = "tenant_assistant.commands"


def main() -> int | str | None:
    """Run the command that the first argument names, and return what the process exits with."""
    commands = {entry.name: entry for entry in entry_points(group=_GROUP)}
    chosen = sys.argv[1] if len(sys.argv) > 1 else ""
    if chosen == "--version":
        print(version("tenant-assistant"))
        return 0
    if chosen not in commands:
        return f"usage: tenant-assistant --version | {' | '.join(sorted(commands))} [options]"
    run = commands[chosen].load()
    return run()  # type: ignore[no-any-return]

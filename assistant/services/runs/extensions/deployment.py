"""The extensions that a deployment adds to the runs of all tenants."""

from __future__ import annotations

from typing import Any

from assistant.core.extensions.extension import Extension, InvalidExtension, checked_extensions, with_hook

# Filled while the process starts.
ADDED: list[Extension[Any]] = []


def add_extension(extension: Extension[Any]) -> None:
    """Let an extension act in the runs of all tenants for which its `acts` is true. Call it in an app's `ready`.

    Raises:
        InvalidExtension: it is none, one of this name was added before, or it adds tools: which tools a run may use is
            decided by the tenant's switches, so tools belong in a module `tools` of an installed app.
    """
    checked_extensions((*ADDED, extension))
    if with_hook([extension], "tools"):
        raise InvalidExtension(f"{extension.name}: tools of tenants' runs belong in a module `tools` of an app.")
    ADDED.append(extension)

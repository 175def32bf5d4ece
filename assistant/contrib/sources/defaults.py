"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from pathlib import Path

from assistant.environment import Environment

ENVIRONMENT = Environment()


def _problem(folder: str) -> str:
    return "" if Path(folder).is_absolute() else f"{folder!r} must be an absolute path like /srv/handbooks"


# Below these folders, and nowhere else, may folders be that become documents. None: only websites are read.
ASSISTANT_SOURCE_FOLDERS = ENVIRONMENT.words("ASSISTANT_SOURCE_FOLDERS", problem=_problem)

__all__ = ["ASSISTANT_SOURCE_FOLDERS"]

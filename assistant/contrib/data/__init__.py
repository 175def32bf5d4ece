"""Read tools over a project's own models: `expose(Model, fields=[...])` in an app's module `assistant`."""

from __future__ import annotations

from assistant.contrib.data.exposing import expose

__all__ = ["expose"]

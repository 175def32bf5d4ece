"""Read tools over a project's own models: `expose(Model, fields=[...])` in an app's module `assistant`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assistant.contrib.data.exposing import expose
    from assistant.contrib.data.exposing_openapi import expose_openapi
    from assistant.contrib.data.exposing_views import expose_viewset
    from assistant.contrib.data.knowledge_sources import KnowledgeSource

__all__ = ["KnowledgeSource", "expose", "expose_openapi", "expose_viewset"]
_MODULES = {
    "KnowledgeSource": "knowledge_sources",
    "expose": "exposing",
    "expose_openapi": "exposing_openapi",
    "expose_viewset": "exposing_views",
}


def __getattr__(name: str) -> Any:
    """Import what projects use when they ask for it: the package is looked at where the app is not installed, too."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

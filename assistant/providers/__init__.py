"""Models by provider, each imported on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assistant.core.llm.scripted import ScriptedModel
    from assistant.providers.openai import OpenAIModel

__all__ = ["OpenAIModel", "ScriptedModel"]

_MODULES = {"OpenAIModel": "assistant.providers.openai", "ScriptedModel": "assistant.core.llm.scripted"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)

"""Models by provider, each imported on first use, and the wire formats that they speak."""

from __future__ import annotations

import importlib
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from assistant.core.values.wire_formats import ANTHROPIC, CHAT_COMPLETIONS, GOOGLE, RESPONSES

if TYPE_CHECKING:
    from assistant.providers.anthropic.model import AnthropicModel
    from assistant.providers.google.model import GoogleModel
    from assistant.providers.openai import OpenAIModel
    from assistant.providers.responses import ResponsesModel
    from assistant.providers.web_search import provider_web_search
    from assistant.testing.scripted import ScriptedModel

__all__ = [
    "AnthropicModel",
    "GoogleModel",
    "OpenAIModel",
    "ResponsesModel",
    "ScriptedModel",
    "provider_web_search",
    "read_texts_with",
]

_MODULES = {
    "AnthropicModel": "assistant.providers.anthropic.model",
    "GoogleModel": "assistant.providers.google.model",
    "OpenAIModel": "assistant.providers.openai",
    "ResponsesModel": "assistant.providers.responses",
    "ScriptedModel": "assistant.testing.scripted",
    "provider_web_search": "assistant.providers.web_search",
}


class WireFormat(NamedTuple):
    """A wire format that providers speak.

    Attributes:
        label: its name for people.
        class_name: the class of its models, a name of this module.
        default_model: asked for if nothing else is set.
        package: the package that it needs beyond the required ones, and `extra` what installs it; "" for none.
        has_kinds: whether servers that speak it differ by kind (`assistant.providers.profiles`).
    """

    label: str
    class_name: str
    default_model: str
    package: str = ""
    extra: str = ""
    has_kinds: bool = False

    @property
    def is_installed(self) -> bool:
        """Whether its package is there; it is not imported for that."""
        try:
            return not self.package or find_spec(self.package) is not None
        except ModuleNotFoundError:  # of a package's parent
            return False


FORMATS: dict[str, WireFormat] = {
    CHAT_COMPLETIONS: WireFormat("OpenAI Chat Completions", "OpenAIModel", "gpt-4.1-mini", has_kinds=True),
    RESPONSES: WireFormat("OpenAI Responses", "ResponsesModel", "gpt-4.1-mini", has_kinds=True),
    ANTHROPIC: WireFormat(
        "Anthropic Messages", "AnthropicModel", "claude-sonnet-5-5", "anthropic", "tenant-assistant[anthropic]"
    ),
    GOOGLE: WireFormat("Google Gemini", "GoogleModel", "gemini-3.8-flash", "google.genai", "tenant-assistant[google]"),
}


@cache
def model_class(wire_format: str) -> Any:
    """Return the class of the models that speak a wire format, imported now. Raises `KeyError` for an unknown one."""
    return __getattr__(FORMATS[wire_format].class_name)


_reading_of_texts = ""


def read_texts_with(name: str, /) -> None:
    """Have the texts of all answers of this process looked through, in every wire format.

    Args:
        name: the dotted name of a `TextReading` of `assistant.providers.answers`, which an answer imports; "": none.
    """
    global _reading_of_texts  # noqa: PLW0603 - of the process
    _reading_of_texts = name
    reading_of_texts.cache_clear()


@cache
def reading_of_texts() -> Any:
    """Return the class that looks through the texts of answers; None if there is none."""
    module, _, name = _reading_of_texts.rpartition(".")
    return getattr(importlib.import_module(module), name) if module else None


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)

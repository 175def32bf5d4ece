"""Merges and validates a tool's stored settings and secrets. Error messages repeat no stored value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from assistant.toolkit import Tool
from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.calls.gate import HandedIn, NoAnswer, ask_from_thread
from assistant.toolkit.definition.settings import config_of, has_config_functions


def read_config(tool: Tool, layers: Iterable[object]) -> Any:
    """Merge layers of settings, the later ones first; return the tool's `config` model, or a read-only mapping.

    Values are of the declared types, as arguments are: digits are no date, and true is no number. Validators of the
    tool's author have a bounded time, in a thread of their own.

    Raises:
        ValueError: the settings are not valid, and the message names the fields; or a validator has given no answer.
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        if not isinstance(layer, Mapping):
            raise ValueError("they must be a JSON object.")
        merged |= layer
    if tool.config is None:
        return MappingProxyType(merged)
    if not has_config_functions(tool):
        return config_of(tool.config, merged)
    try:
        return ask_from_thread(HandedIn(partial(config_of, tool.config, merged), (), "config", tool.name)).result()
    except NoAnswer as exc:
        raise ValueError(f"{exc}.") from exc


def read_secrets(layers: Iterable[str]) -> Mapping[str, str]:
    """Merge layers of secrets by name. Raises `ValueError` unless each is empty or a JSON object of strings."""
    merged: dict[str, str] = {}
    for text in layers:
        try:
            found = load_json(text) if text else {}
        except ValueError:
            raise ValueError("the secrets are not JSON.") from None
        if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
            raise ValueError("the secrets must be a JSON object of strings.")
        merged |= found
    return MappingProxyType(merged)

"""Asks a provider, through the wire format that it speaks, for its models and whether it takes a key and a model."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

from assistant.core.llm.protocol import ModelRequest
from assistant.core.values.messages import Message
from assistant.core.values.wire_formats import CHAT_COMPLETIONS
from assistant.providers import FORMATS, model_class, openai_probe
from assistant.providers.openai_probe import ProbeFailed, Server, probing

__all__ = ["ProbeFailed", "Server", "list_models", "try_model"]


async def list_models(server: Server, *, wire_format: str, seconds: float) -> tuple[str, ...]:
    """Return the names of the models that a server lists, sorted; at most `MAX_MODELS`. Raises `ProbeFailed`."""
    if FORMATS[wire_format].has_kinds:  # of OpenAI, which has one list
        return await openai_probe.list_models(server, seconds=seconds)
    await _import_package(wire_format)
    async with probing(server, seconds):
        names: list[str] = await _model(server, "", wire_format, seconds).list_models(openai_probe.MAX_MODELS)
    return openai_probe.usable_names(names)


async def try_model(server: Server, model: str, *, wire_format: str, seconds: float) -> None:
    """Ask a model for an answer, and stop it at its first words. Raises `ProbeFailed`."""
    if wire_format == CHAT_COMPLETIONS:
        return await openai_probe.try_model(server, model, seconds=seconds)
    request = ModelRequest([Message("user", openai_probe.QUESTION)])
    await _import_package(wire_format)
    async with (
        probing(server, seconds),
        aclosing(_model(server, model, wire_format, seconds).stream(request)) as deltas,
    ):
        await anext(deltas)
    return None


async def _import_package(wire_format: str) -> None:
    """Import the provider's package before the time of a probe starts: the first import in a process takes seconds.

    OpenAI's package is imported when the process starts.
    """
    if not FORMATS[wire_format].has_kinds:
        await model_class(wire_format).clients.get()


def _model(server: Server, model: str, wire_format: str, seconds: float) -> Any:
    return model_class(wire_format)(
        model,
        base_url=server.base_url,
        api_key=server.api_key,
        guard=server.guard,
        timeout=seconds,
        max_retries=0,
    )

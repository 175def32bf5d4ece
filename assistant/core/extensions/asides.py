"""Requests beside a turn, such as for a summary or a title, as the extensions of the turn have them sent."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

from assistant.core.extensions.extension import Extension, with_hook
from assistant.core.extensions.interceptors import AskModel, InterceptedModel
from assistant.core.llm.protocol import Delta, Model, ModelError, ModelRequest
from assistant.core.values.messages import Reply
from assistant.toolkit.calls.gate import HandedIn, called

logger = logging.getLogger(__name__)

BEFORE, AFTER = "before_aside", "after_aside"


def model_for_asides(model: Model, extensions: Iterable[Extension[Any]]) -> Model:
    """Return a model whose requests and answers go through the hooks for asides of these extensions.

    A request raises `ModelError` if the hook of one that guards fails; others are passed over.
    """
    acting = tuple(extensions)
    before = with_hook(acting, BEFORE)
    after = with_hook(acting, AFTER)
    return InterceptedModel(model, [_Hooked(before, after)]) if before or after else model


class _Hooked:
    def __init__(self, before: Sequence[Extension[Any]], after: Sequence[Extension[Any]]) -> None:
        self._before = before
        self._after = after

    async def __call__(self, request: ModelRequest, ask: AskModel) -> AsyncIterator[Delta | Reply]:
        for one in self._before:
            request = await _call(one, BEFORE, (request,), ModelRequest) or request
        async for part in ask(request):
            if isinstance(part, Reply):
                for one in self._after:
                    await _call(one, AFTER, (request, part), None)
            yield part


async def _call(one: Extension[Any], hook: str, given: tuple[Any, ...], answer: type[Any] | None) -> Any:
    """Return what a hook gives; None if it fails. Raises `ModelError` if the extension guards."""
    try:
        return await called(HandedIn(getattr(one, hook), given, hook, one.name, answer, one.seconds))
    except Exception as exc:
        logger.exception("The extension %s failed in %s", one.name, hook)
        if one.guards:
            raise ModelError(f"The extension {one.name} failed.") from exc
        return None

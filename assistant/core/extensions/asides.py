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

HOOK = "before_aside"


def model_for_asides(model: Model, extensions: Iterable[Extension[Any]]) -> Model:
    """Return a model whose requests go through the hook `before_aside` of these extensions.

    A request raises `ModelError` if the hook of one that guards fails; others are passed over.
    """
    hooked = with_hook(extensions, HOOK)
    return InterceptedModel(model, [_Prepared(hooked)]) if hooked else model


class _Prepared:
    def __init__(self, extensions: Sequence[Extension[Any]]) -> None:
        self._extensions = extensions

    async def __call__(self, request: ModelRequest, ask: AskModel) -> AsyncIterator[Delta | Reply]:
        for one in self._extensions:
            hook = HandedIn(getattr(one, HOOK), (request,), HOOK, one.name, ModelRequest, one.seconds)
            try:
                request = await called(hook)
            except Exception as exc:
                logger.exception("The extension %s failed in %s", one.name, HOOK)
                if one.guards:
                    raise ModelError(f"The extension {one.name} failed.") from exc
        async for part in ask(request):
            yield part

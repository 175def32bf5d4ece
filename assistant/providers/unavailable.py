"""A model that cannot be asked in this deployment, such as one whose package is not installed."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator

from assistant.core.llm.protocol import Delta, FailureDetails, ModelError, ModelRequest
from assistant.core.values.messages import Reply
from assistant.providers.openai_wire.error_sentences import UNUSABLE

log = logging.getLogger(__name__)
_NOTHING: tuple[Delta, ...] = ()


class UnavailableModel:
    """Fails with every request.

    Args:
        reason: for operators; members read `UNUSABLE`.
    """

    def __init__(self, name: str, *, provider: str, reason: str) -> None:
        self.name = name
        self.provider = provider
        self._reason = reason

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply]:
        """Raise a `ModelError` without a kind: only an operator can resolve it."""
        for delta in _NOTHING:
            yield delta
        error = ModelError(UNUSABLE)
        error.details = FailureDetails(message=self._reason)
        log.warning("%s, model %s: %s", self.provider, self.name, self._reason)
        raise error

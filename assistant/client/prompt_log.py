"""Logs whole prompts and replies, for those who look for a mistake in them."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any

from assistant.client.redaction import MARK, PRIVATE, Redaction
from assistant.client.sent_requests import content_of
from assistant.core.extensions.extension import Extension, ExtensionRun
from assistant.core.llm.protocol import ModelRequest
from assistant.core.values.messages import Reply
from assistant.toolkit.logs import log_extra

logger = logging.getLogger("assistant.prompts")

# Of one message in the log.
MAX_CHARACTERS = 100_000


class PromptLog(Extension[None]):
    """Logs each request to a model and its reply, whole, at the level INFO of the logger `assistant.prompts`.

    So it does with those for titles, further questions and summaries. They hold what people write and what tools
    return: switch it on to find a mistake, and off again.

    Args:
        redact: regular expressions of what is left out; by default addresses, long numbers and keys.
        mark: stands in their place.
    """

    in_sub_agents = True

    def __init__(self, *, redact: Sequence[str | re.Pattern[str]] = PRIVATE, mark: str = MARK) -> None:
        self._redaction = Redaction(redact, mark)

    async def before_request(self, run: ExtensionRun[None], request: ModelRequest) -> ModelRequest:
        self._log(run, "is sent", content_of(request).decode("utf-8", "replace"))
        return request

    async def after_reply(self, run: ExtensionRun[None], reply: Reply) -> None:
        calls = "".join(f"\n{call.name} {call.arguments}" for call in reply.tool_calls)
        self._log(run, "answers", f"{reply.text}{calls}")

    async def before_aside(self, request: ModelRequest) -> ModelRequest:
        logger.info("Beside a run: the model is sent: %s", self._shown(content_of(request).decode("utf-8", "replace")))
        return request

    async def after_aside(self, request: ModelRequest, reply: Reply) -> None:
        logger.info("Beside a run: the model answers: %s", self._shown(reply.text))

    def _log(self, run: ExtensionRun[None], what: str, text: str) -> None:
        extra: dict[str, Any] = log_extra(run.context)
        logger.info("Run %s: %s %s: %s", run.context.run_id, run.model.name, what, self._shown(text), extra=extra)

    def _shown(self, text: str) -> str:
        text = self._redaction.text(text)
        return f"{text[:MAX_CHARACTERS]}…" if len(text) > MAX_CHARACTERS else text

"""Questions of a host's people, asked of a model that is not scripted; `python -m benchmarks.questions` counts them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from typing import Any
from unittest import mock

from assistant.core.llm.protocol import Delta, ModelRequest
from assistant.core.values.messages import Reply
from assistant.providers.embedded import EmbeddedModel
from assistant.providers.embedded import model as embedded_model
from assistant.testing import Answer, ChatTester, asgi_client
from assistant.testing.models import answer_with

# Requests for one question: calls that were refused are mended.
MAX_REQUESTS = 3
# Of one question, on a machine that has other work.
PATIENCE_SECONDS = float(os.environ.get("QUESTIONS_SECONDS", "900"))


class UntilRead:
    """The embedded model, until it has read what is right: what it would write then is not measured.

    Attributes:
        is_right: whether it has.
        requests: how often it was asked.
    """

    name = "until-read"
    provider = "Embedded model"
    is_small = True

    def __init__(self, address: str, judge: Callable[[str], bool]) -> None:
        with mock.patch.object(embedded_model, "FIRST_TOKEN_SECONDS", PATIENCE_SECONDS):
            self._model = EmbeddedModel(address)
        self._judge = judge
        self.is_right = False
        self.requests = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        last = request.messages[-1]
        self.is_right = last.role == "tool" and self._judge(last.content)
        if self.is_right or self.requests == MAX_REQUESTS:
            yield Reply("Enough.")
            return
        self.requests += 1
        async for item in self._model.stream(request):
            yield item


def asked_of(
    address: str, tenant: Any, user: Any, assistant: str, text: str, judge: Callable[[str], bool]
) -> dict[str, Any]:
    """Ask a question in a conversation of its own; return what was called and whether the right rows were read.

    Args:
        address: the server of the embedded model.
        judge: whether the text that a tool returned is right.
    """
    model = UntilRead(address, judge)
    with (
        mock.patch.object(asgi_client, "PATIENCE_SECONDS", PATIENCE_SECONDS),
        answer_with(model),
        ChatTester(tenant, user, assistant) as chat,
    ):
        try:
            answer = chat.ask(text)
        except TimeoutError:
            answer = Answer([{"type": "RUN_ERROR", "code": "slow"}])
    arguments = "".join(event["delta"] for event in answer.events if event["type"] == "TOOL_CALL_ARGS")
    return {
        "question": text, "is_right": model.is_right, "requests": model.requests, "calls": answer.tool_calls,
        "arguments": arguments, "error": answer.error,
    }  # fmt: skip

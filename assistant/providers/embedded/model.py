"""The embedded model as a `Model`: an OpenAI client for its server, with requests adapted to a small model."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace

from assistant.core.llm.protocol import Delta, ModelError, ModelRequest, TextDelta, ToolCallDelta
from assistant.core.values.history_window import estimate, fit
from assistant.core.values.messages import Message, Reply
from assistant.providers.calling import CallsTools
from assistant.providers.embedded.compact_schemas import compact
from assistant.providers.embedded.readiness import is_ready
from assistant.providers.embedded.ready_answers import ready_answer
from assistant.providers.embedded.searches import (
    needed_search,
    reworded,
    searched,
    unsure_search,
    without_suppositions,
)
from assistant.providers.embedded.small_models import example_turns, listed_tools
from assistant.providers.embedded.weights import MODEL_NAME
from assistant.providers.embedded.wordings import wordings_request, written_wordings
from assistant.providers.openai import OpenAIModel

logger = logging.getLogger(__name__)

# The context of one conversation in tokens, and the part of it that is reserved for the answer.
CONTEXT_TOKENS = 8192
ANSWER_TOKENS = 1024
# A CPU reads about 70 tokens a second, so longer results would make users wait too long.
RESULT_CHARACTERS = 2400
# How a call begins in the chat template; excluded from the answer if the model has just repeated a call.
_CALL_MARK = "```"
# After a result the template repeats the question as "I asked: ..."; the model must not copy that.
_REPEATED_QUESTION = " asked"
# Longer than a busy machine needs to read the longest prompt: a bound for a server that says nothing any more.
FIRST_TOKEN_SECONDS = 900.0
LOADING_SECONDS = 120.0


class EmbeddedModel(CallsTools):
    """The model that `assistant_local_model serve` runs on this machine.

    Args:
        base_url: the server's address, with or without `/v1`.
    """

    name = MODEL_NAME
    provider = "Embedded model"
    well_known_provider = "llama_cpp"
    is_small = True

    def __init__(self, base_url: str) -> None:
        self.server_url = base_url.rstrip("/").removesuffix("/v1") + "/v1"
        self._client = OpenAIModel(
            MODEL_NAME,
            base_url=self.server_url,
            api_key="",
            provider=self.provider,
            timeout=FIRST_TOKEN_SECONDS,
            # As `prefill` writes requests, so that the server finds what it has read.
            kind="openai",
        )

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply]:
        """See `Model.stream`. Waits while the server loads the weights. Raises `ModelError`."""
        if again := await self._second_search(request):
            for delta in _deltas(again, has_text=True):
                yield delta
            yield again
            return
        if answer := ready_answer(request.messages):
            yield TextDelta(answer)
            yield Reply(answer, model=self.name)
            return
        if not await is_ready(self.server_url, seconds=LOADING_SECONDS):
            raise ModelError("The embedded model is not running. Start it with: manage.py assistant_local_model serve")
        search = needed_search(request)
        async with aclosing(self._client.stream(prepared(request))) as items:
            async for item in items:
                # Calls are complete before they are looked at, and so is an answer that may be none.
                if isinstance(item, Reply):
                    for delta in _deltas(reply := searched(item, request, search), has_text=search is None):
                        yield delta
                    yield reply
                elif not isinstance(item, ToolCallDelta) and not (search and isinstance(item, TextDelta)):
                    yield item

    async def _second_search(self, request: ModelRequest) -> Reply | None:
        """Return a search by what a handbook may say, if the first one is not sure to have found anything."""
        first = unsure_search(request)
        if first is None:
            return None
        call, question = first
        try:
            async with aclosing(self._client.stream(wordings_request(question))) as items:
                written = [item async for item in items if isinstance(item, Reply)][-1]
        except ModelError as exc:
            logger.warning("No second search is made: %s", exc)
            return None
        wordings = written_wordings(written.text)
        if not wordings:
            return None
        # The question has the names and numbers that documents have too.
        again = reworded(call, request, [question, *wordings])
        return Reply(tool_calls=(again,), usage=written.usage, finish_reason="tool_calls", model=self.name)


def prepared(request: ModelRequest) -> ModelRequest:
    """Return the request as the embedded model gets it: shortened, and with worked examples of fitting tools."""
    tools = compact(listed_tools(request))
    turns = example_turns(request, tools) if not request.response_format else []
    request = replace(request, tools=tools)
    budget = CONTEXT_TOKENS - ANSWER_TOKENS - sum(map(estimate, turns)) - _tokens_of_tools(request)
    shown = without_suppositions(request.messages, request.tools)
    messages = fit([_shortened(message) for message in shown], tokens=max(budget, CONTEXT_TOKENS // 8))
    head = next((i for i, message in enumerate(messages) if message.role != "system"), len(messages))
    options = {"temperature": 0, "max_tokens": ANSWER_TOKENS, **request.options}
    if messages[-1].role == "tool":
        options["logit_bias"] = [
            [word, False] for word in (_REPEATED_QUESTION, _CALL_MARK)[: 2 if _has_repeated_calls(messages) else 1]
        ]
    return replace(request, messages=[*messages[:head], *turns, *messages[head:]], options=options)


def _deltas(reply: Reply, *, has_text: bool) -> Iterator[Delta]:
    """Yield what was kept back of a reply: its calls, and before them its text unless that was passed on."""
    if reply.text and not has_text:
        yield TextDelta(reply.text)
    for index, call in enumerate(reply.tool_calls):
        yield ToolCallDelta(index, call.id, call.name, call.arguments)


def _has_repeated_calls(messages: Sequence[Message]) -> bool:
    """Whether the model made the same calls twice in a row since the last user message."""
    calls: list[list[tuple[str, str]]] = []
    for message in messages:
        if message.role == "user":
            calls = []
        elif message.role == "assistant":
            calls.append([(call.name, call.arguments) for call in message.tool_calls])
    return messages[-1].role == "tool" and len(calls) > 1 and calls[-1] == calls[-2]


def _tokens_of_tools(request: ModelRequest) -> int:
    return sum(estimate(Message("system", f"{tool.description} {tool.parameters}")) for tool in request.tools)


def _shortened(message: Message) -> Message:
    if message.role != "tool" or len(message.content) <= RESULT_CHARACTERS:
        return message
    return replace(message, content=message.content[:RESULT_CHARACTERS] + " [cut]")

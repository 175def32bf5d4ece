"""Reads the answer to one request, in any wire format, and ends it in the same way."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol, TypeVar

from assistant.core.llm.protocol import Delta, ModelError, TextDelta
from assistant.core.values.messages import Reply, Usage
from assistant.providers.failures import as_model_error
from assistant.providers.openai_wire.response_body import Body, ReplyAssembler
from assistant.providers.openai_wire.sse import StreamReader
from assistant.providers.written_calls import WrittenCalls
from assistant.toolkit import Tool

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")


class AnswerAssembler(ReplyAssembler[T], Protocol[T]):  # type: ignore[misc]  # the base is contravariant
    """Puts one reply together."""

    @property
    def usage(self) -> Usage:
        """The tokens that the provider has counted so far."""

    @property
    def is_closed(self) -> bool:
        """Whether an event has said that nothing can follow any more."""


class Complete(Protocol):
    """Adds to an error what is known of its request, and logs it."""

    def __call__(self, error: ModelError, /, *, usage: Usage, headers: Mapping[str, str]) -> None: ...


async def read_answer(
    opening: Callable[[], Awaitable[httpx2.Response]],
    reader: StreamReader[T],
    assembler: AnswerAssembler[T],
    finish: Callable[[], Reply],
    complete: Complete,
    *,
    tools: Sequence[Tool] | None,
    seconds: float,
    on_text: Callable[[str], bool] | None = None,
) -> AsyncGenerator[Delta | Reply]:
    """Send a request; yield the deltas of the answer, and last the reply.

    Args:
        opening: sends the request, and returns the response whose body has not been read.
        finish: returns the reply that the assembler has. Raises `ModelError` if it is incomplete.
        complete: called with the error before it is raised.
        tools: those that were offered, whose calls are read from the text; None to leave them there.
        seconds: how long each read of the body may take.
        on_text: as for `DirectModel.stream_to`.

    Raises:
        ModelError: there is no complete reply. Closing the iterator closes the connection.
    """
    headers: Mapping[str, str] = {}
    written = WrittenCalls(tools)
    on_plain_text = None if on_text is None else written.passing(on_text)
    try:
        async with aclosing(await opening()) as response:
            headers = response.headers
            body = Body(response, reader, assembler, seconds=seconds)
            try:
                while (events := await body.read()) is not None:
                    for event in events:
                        assembler.feed(event)
                    reader.is_done |= assembler.is_closed
                    deltas: Sequence[Delta] = assembler.take()
                    deltas = deltas if written.is_idle else list(written.passed(deltas))
                    for delta in deltas:
                        yield delta
                    if on_plain_text is not None and deltas and isinstance(deltas[-1], TextDelta):
                        for delta in written.passed(await body.pass_text(on_plain_text)):
                            yield delta
            finally:
                await body.close()
    except Exception as exc:
        error = as_model_error(exc)
        complete(error, usage=assembler.usage, headers=headers)
        for delta in (*written.passed(assembler.take()), *written.released()):
            yield delta
        if isinstance(exc, ModelError) or not assembler.is_ended:  # the reply is complete if it had already ended
            raise error from None
    try:
        reply = finish()
        last = list(written.passed(assembler.take()))
        held, reply = written.finished(reply)
    except ModelError as error:
        complete(error, usage=assembler.usage, headers=headers)
        for delta in (*written.passed(assembler.take()), *written.released()):
            yield delta
        raise
    for delta in (*last, *held):
        yield delta
    yield reply

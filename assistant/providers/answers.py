"""Reads the answer to one request, in any wire format, and makes a failed one a `ModelError`, masked and logged."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import traceback
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from assistant.core.llm.protocol import Delta, FailureDetails, ModelError, ModelRequest, TextDelta
from assistant.core.values.messages import Reply, Usage
from assistant.providers import reading_of_texts
from assistant.providers.failure_masking import masked
from assistant.providers.given_settings import InvalidSetting
from assistant.providers.openai_wire.error_sentences import BROKEN, TOO_SLOW, UNREACHABLE, UNUSABLE, request_id_in
from assistant.providers.openai_wire.fast_paths.direct_body import DirectReader, direct_reader
from assistant.providers.openai_wire.sse import BOM, NOT_JSON, TOO_LARGE, StreamReader
from assistant.providers.tool_adaptation.refused_tools import Asking, FirstFailure, RefusedTools, Send, settled
from assistant.toolkit import Tool
from assistant.toolkit.guards.url_guard import UnsafeUrl
from assistant.toolkit.logs import request_id

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

AFTER_END_SECONDS = 2.0  # for the token counts, which follow the finish reason
DRAIN_SECONDS = 0.1  # for the end of the body after `[DONE]`, so that the connection can be reused
MAX_REPLY_BYTES = 64 * 1024 * 1024
# How much may come before anything is said, such as comments and empty deltas, until that is not waited for.
MAX_FIRST_BYTES = 64 * 1024
_BEGUN = "assistant.begun"
# Content types that are parsed; some servers send none, or a wrong one.
READABLE = (
    "",
    "text/event-stream",
    "application/json",
    "application/x-ndjson",
    "application/octet-stream",
    "text/plain",
)


class AnswerAssembler(Protocol[T_contra]):
    """What puts a reply together from the events of a stream."""

    @property
    def usage(self) -> Usage:
        """The tokens that the provider has counted so far."""

    @property
    def is_ended(self) -> bool:
        """Whether the answer has ended; after that, only the token counts can follow."""

    @property
    def is_closed(self) -> bool:
        """Whether an event has said that nothing can follow any more."""

    def feed(self, chunk: T_contra, /) -> None:
        """Add one event. Raises `ModelError` if it reports a failure."""

    def take(self) -> Sequence[Delta]:
        """Return the deltas since `take` was last called."""


class BodySource(Protocol):
    """What the parts of a body are read from."""

    async def read(self) -> bytes:
        """Return the bytes of one read of the socket, decompressed; empty at the end."""

    async def close(self) -> None:
        """Release the body, even if it was not read to its end."""


class _HttpxReader:
    """Reads through httpx2, whose timeouts limit each wait."""

    def __init__(self, response: httpx2.Response) -> None:
        self._bytes: AsyncGenerator[bytes] = response.aiter_bytes()

    async def read(self) -> bytes:
        """Return the bytes of one read of the socket, decompressed; empty at the end."""
        return await anext(self._bytes, b"")

    async def close(self) -> None:
        await self._bytes.aclose()


class Body(Generic[T]):
    """The body of one answer; close its `source` after reading.

    Args:
        response: its body must not have been read.
        reader: parses the events; its `is_done` is set afterwards if the stream was ended by `[DONE]`.
        assembler: gets the chunks of `pass_text`; those that `read` returns are for the caller to feed.
        seconds: how long each read may take.
    """

    def __init__(
        self, response: httpx2.Response, reader: StreamReader[T], assembler: AnswerAssembler[T], *, seconds: float
    ) -> None:
        self._kind = _content_type(response)
        self._events = reader
        self._assembler = assembler
        self._size = 0
        self._is_over = False
        self._deltas: Sequence[Delta] = ()
        begun: _Begun | None = response.extensions.get(_BEGUN)
        self.source: BodySource
        if begun is None:
            self.source = direct_reader(response, seconds) or _HttpxReader(response)
            self._read_part = self.source.read
        else:
            self.source = begun.source
            self._read_part = begun.read

    async def read(self) -> list[T] | None:
        """Return the chunks of the next read of the socket; None after the last.

        Raises:
            ModelError: the body is not a stream of events or JSON, or is too large.
        """
        if self._is_over:
            return None
        if self._kind not in READABLE:
            error = ModelError(NOT_JSON)
            error.add_note(f"content type {self._kind[:60]!r}")
            raise error
        if self._kind == "application/json":
            self._is_over = True
            return await self._read_whole()
        events = self._events
        if events.failure is not None:
            raise events.failure
        if events.is_done or self._assembler.is_ended:
            try:
                async with asyncio.timeout(DRAIN_SECONDS if events.is_done else AFTER_END_SECONDS):
                    data = await self._read_part()
            except TimeoutError:
                data = b""
            if events.is_done:
                self._is_over = True
                return None
        else:
            data = await self._read_part()
        if not data:
            self._is_over = True
            return events.close()
        return self._chunks(data)

    async def pass_text(self, on_text: Callable[[str], bool]) -> Sequence[Delta]:
        """Pass text to `on_text` as it arrives, until something else arrives, or text for which it returns False.

        Continues where `read` stopped. Returns the deltas that were not passed on; raises what `read` raises.
        """
        source = self.source
        self._deltas = ()
        if isinstance(source, DirectReader) and self._may_continue:
            await source.feed(partial(self._pass_text, on_text))
        return self._deltas

    @property
    def _may_continue(self) -> bool:
        """Whether more text can arrive."""
        events = self._events
        return not (self._is_over or events.is_done or events.failure or self._assembler.is_ended)

    def _pass_text(self, on_text: Callable[[str], bool], data: bytes) -> bool:
        for chunk in self._chunks(data):
            self._assembler.feed(chunk)
        deltas = self._assembler.take()
        is_taken = len(deltas) == 1 and isinstance(deltas[0], TextDelta) and on_text(deltas[0].text)
        self._deltas = () if is_taken else deltas
        return not self._deltas and self._may_continue

    def _chunks(self, data: bytes) -> list[T]:
        self._size += len(data)
        if self._size > MAX_REPLY_BYTES:
            raise ModelError(TOO_LARGE)
        return self._events.feed(data)

    async def _read_whole(self) -> list[T]:
        """Read the answer of a server that does not stream, or that labels its stream as JSON."""
        data = bytearray()
        while part := await self._read_part():
            data += part
            if len(data) > MAX_REPLY_BYTES:
                raise ModelError(TOO_LARGE)
        try:
            chunk = self._events.decoder.read(bytes(data.removeprefix(BOM)))
        except ValueError:
            chunks = [*self._events.feed(bytes(data)), *self._events.close()]
            if not chunks or self._events.failure:
                raise ModelError(NOT_JSON) from None
            return chunks
        self._events.is_done = True
        return [chunk]


@dataclass(slots=True)
class _Begun:
    """The source of a body whose beginning has been read, and what was read."""

    source: BodySource
    parts: list[bytes]

    async def read(self) -> bytes:
        return self.parts.pop(0) if self.parts else await self.source.read()


async def first_failure(
    response: httpx2.Response, reader: StreamReader[T], assembler: AnswerAssembler[T], *, seconds: float
) -> ModelError | None:
    """Read a response until it says something, and return the failure if it reports one before that.

    What was read stays there for the `Body` of this response.

    Args:
        reader, assembler: for the beginning only.
        seconds: how long each read may take.
    """
    is_whole = _content_type(response) == "application/json"
    source: BodySource = direct_reader(response, seconds) or _HttpxReader(response)
    begun = _Begun(source, [])
    response.extensions[_BEGUN] = begun
    size = 0
    while size <= MAX_FIRST_BYTES and (part := await _part_of(source)):
        begun.parts.append(part)
        size += len(part)
        try:
            events = [reader.decoder.read(b"".join(begun.parts).removeprefix(BOM))] if is_whole else reader.feed(part)
            for event in events:
                assembler.feed(event)
        except ModelError as error:
            return error
        except ValueError:  # the rest of the document follows
            continue
        if assembler.take() or assembler.is_ended or reader.is_done or reader.failure:
            break
    return None


async def _part_of(source: BodySource) -> bytes:
    """Return the next part; a source that fails, or that nobody waits for any more, is closed."""
    try:
        return await source.read()
    except BaseException:
        await source.close()
        raise


def _content_type(response: httpx2.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


log = logging.getLogger(__name__)


def as_model_error(exc: Exception) -> ModelError:
    """Return the `ModelError` for an exception, without its message: that can contain addresses, prompts and keys."""
    if isinstance(exc, ModelError):
        return exc
    if isinstance(exc, InvalidSetting):
        error = ModelError(UNUSABLE)
        error.details = FailureDetails(message=str(exc))
        return error
    causes = list(_causes(exc))
    if reason := _unreachable(causes):
        error = ModelError(UNREACHABLE, kind="down")
        error.details = FailureDetails(message=reason)
    elif any(isinstance(cause, TimeoutError) for cause in causes):
        error = ModelError(TOO_SLOW, "provider_timeout", kind="slow")
    else:
        error = ModelError(BROKEN, kind="down")
    place = traceback.extract_tb(exc.__traceback__)[-1]
    names = " from ".join(type(cause).__name__ for cause in causes)
    error.add_note(f"{names}, {Path(place.filename).name} line {place.lineno}")
    return error


def complete_error(
    error: ModelError,
    request: ModelRequest,
    *,
    provider: str,
    model: str,
    usage: Usage,
    headers: Mapping[str, str],
    key: str,
) -> None:
    """Add to an error what is known of the request, take keys and prompts out of its details, and log it.

    Args:
        usage: the tokens that the provider had counted until then.
        headers: of the response.
        key: that the request was made with; "" for none.
    """
    error.usage = usage
    details = error.details or FailureDetails()
    if not details.request_id:
        details = replace(details, request_id=request_id_in(headers))
    error.details = masked(details, request, keys=(key,) if key else ())
    log.warning("%s, model %s: %s (%s)", provider, model, error, error.cause)


def request_id_header() -> dict[str, str]:
    """Return a header with the request's id, so that the provider's log and this one can be compared.

    Source: https://platform.openai.com/docs/api-reference/debugging-requests
    """
    known = request_id()
    return {"X-Client-Request-Id": known} if known else {}


def _unreachable(causes: Iterable[BaseException]) -> str:
    """Return why no connection was made, in words without the address; "" if one was made, or that is not known."""
    for cause in causes:
        match cause:
            case UnsafeUrl():
                return str(cause)
            case socket.gaierror():
                return "its name has no address (DNS)"
            # aiohttp's exceptions are of these classes too, without the attributes, and have the original as cause.
            case ssl.SSLCertVerificationError(verify_message=message):
                return f"its certificate is not accepted: {message}"
            case ssl.SSLError(reason=reason):
                return f"no TLS connection was made: {reason}"
            case ConnectionRefusedError():
                return "it refuses connections"
    return ""


def _causes(exc: BaseException | None) -> Iterator[BaseException]:
    while exc is not None:
        yield exc
        exc = exc.__cause__ or exc.__context__


class Complete(Protocol):
    """Adds to an error what is known of its request, and logs it."""

    def __call__(self, error: ModelError, /, *, usage: Usage, headers: Mapping[str, str]) -> None: ...


class TextReading(Protocol):
    """Looks through the text of one answer, and may hold back parts of it.

    Attributes:
        is_idle: whether no text needs to be looked at any more.
    """

    is_idle: bool

    def __init__(self, tools: Sequence[Tool]) -> None:
        """Begin an answer to a request that offered these tools."""

    def passed(self, deltas: Iterable[Delta]) -> Iterable[Delta]:
        """Return the deltas that may be shown."""

    def passing(self, on_text: Callable[[str], bool]) -> Callable[[str], bool]:
        """Return `on_text` for text that may be shown at once; it returns False for any other."""

    def released(self) -> Iterable[Delta]:
        """Return what was held back, since the answer has failed."""

    def finished(self, reply: Reply) -> tuple[Iterable[Delta], Reply]:
        """Return the deltas that were held back, and the reply. Raises `ModelError` if its text is no answer."""


async def read_answer(  # noqa: PLR0912 - a branch for each way in which an answer may end
    send: Send,
    request: ModelRequest,
    reader: StreamReader[T],
    assembler: AnswerAssembler[T],
    *,
    finish: Callable[[], Reply],
    complete: Complete,
    refused: RefusedTools,
    first_failure: FirstFailure,
    seconds: float,
    on_text: Callable[[str], bool] | None = None,
) -> AsyncGenerator[Delta | Reply]:
    """Send a request; yield the deltas of the answer, and last the reply.

    Args:
        send: sends a request, and returns the response whose body has not been read.
        finish: returns the reply that the assembler has. Raises `ModelError` if it is incomplete.
        complete: called with the error before it is raised.
        refused: repeats the request without tools that the provider refuses.
        first_failure: as of `RefusedTools.begin`.
        seconds: how long each read of the body may take.
        on_text: as for `DirectModel.stream_to`.

    Raises:
        ModelError: there is no complete reply. Closing the iterator closes the connection.
    """
    headers: Mapping[str, str] = {}
    reading: TextReading | None = None if (made := reading_of_texts()) is None else made(request.tools)
    on_plain_text = on_text if on_text is None or reading is None else reading.passing(on_text)
    # What was accepted before is sent as it is, and looked at only if it fails.
    is_settled = not request.tools or (refused.key, tuple(request.tools)) in settled
    asking: Asking | None = None if is_settled else refused.begin(send, first_failure, request)
    try:
        try:
            response = await (send(request) if asking is None else asking.response())
        except ModelError as failure:
            if asking is not None:
                raise
            asking = Asking(refused, send, first_failure, request)
            response = await asking.response(failure)
        async with aclosing(response):
            headers = response.headers
            body = Body(response, reader, assembler, seconds=seconds)
            try:
                while (events := await body.read()) is not None:
                    for event in events:
                        assembler.feed(event)
                    reader.is_done |= assembler.is_closed
                    deltas: Sequence[Delta] = assembler.take()
                    if reading is not None and not reading.is_idle:
                        deltas = list(reading.passed(deltas))
                    for delta in deltas:
                        yield delta
                    if (
                        on_plain_text is not None
                        and deltas
                        and isinstance(deltas[-1], TextDelta)
                        and not assembler.is_ended
                    ):
                        deltas = await body.pass_text(on_plain_text)
                        for delta in deltas if reading is None else reading.passed(deltas):
                            yield delta
            finally:
                await body.source.close()
    except Exception as exc:
        error = as_model_error(exc)
        complete(error, usage=assembler.usage, headers=headers)
        for delta in _rest_of_failed(assembler, reading):
            yield delta
        if isinstance(exc, ModelError) or not assembler.is_ended:  # the reply is complete if it had already ended
            raise error from None
    try:
        reply = finish()
        last: Iterable[Delta] = assembler.take()
        if reading is not None:
            passed = list(reading.passed(last))
            held, reply = reading.finished(reply)
            last = (*passed, *held)
    except ModelError as error:
        complete(error, usage=assembler.usage, headers=headers)
        for delta in _rest_of_failed(assembler, reading):
            yield delta
        raise
    for delta in last:
        yield delta
    yield reply if asking is None else asking.counted(reply)


def _rest_of_failed(assembler: AnswerAssembler[T], reading: TextReading | None) -> Iterable[Delta]:
    """Return the deltas of a failed answer that were not passed on yet."""
    deltas = assembler.take()
    return deltas if reading is None else (*reading.passed(deltas), *reading.released())

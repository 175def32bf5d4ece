"""Parses server-sent events into typed chunks.

Each `data:` line is decoded as soon as it is complete, without waiting for the blank line after the event, which some
servers omit. A line that is not JSON by itself waits for the rest of its event.
Source of the line rules: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

import json
import re
from typing import Generic, TypeVar

import msgspec

from assistant.core.llm.protocol import ModelError
from assistant.providers.openai_wire.chunks import Chunk
from assistant.toolkit.bounded_json import MAX_DEPTH, check_depth, load_json, may_exceed
from assistant.toolkit.translation import gettext_noop

MAX_EVENT_BYTES = 4 * 1024 * 1024
# JSON of this length cannot be nested deeper than `MAX_DEPTH`, unless it has arrays directly in arrays.
SHORT_BYTES = MAX_DEPTH * 5 // 2
TOO_LARGE = gettext_noop("The provider sent more at once than can be read.")
NOT_JSON = gettext_noop("The provider sent something that cannot be read.")

T = TypeVar("T")
_UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError)
BOM = b"\xef\xbb\xbf"
# The end of a stream, in capitals.
_LAST = (b"[DONE]", b'"[DONE]"')
_DOCUMENT = json.JSONDecoder(strict=False)
_NEXT_DOCUMENT = re.compile(r"\s*(?:data:\s*)?")


class Decoder(Generic[T]):
    """Decodes JSON documents as values of one type; `fast` is for documents that are known not to be nested deeply."""

    def __init__(self, shape: type[T]) -> None:
        self.fast = msgspec.json.Decoder(shape).decode
        self._shape = shape

    def read(self, payload: bytes) -> T:
        """Decode one document. Raises `ValueError` if it is not JSON, or nested too deeply.

        msgspec refuses lone surrogates, NaN, control characters in texts and numbers as text, which some servers send;
        they are accepted here.
        """
        check_depth(payload)
        try:
            return self.fast(payload)
        except _UNDECODABLE:
            values = load_json(payload.decode("utf-8", "surrogateescape"), strict=False)
            return msgspec.convert(values, self._shape, strict=False)


# The events of chat completions.
CHUNKS = Decoder(Chunk)


class StreamReader(Generic[T]):
    """Parses a stream: `feed` it bytes, and it returns the events that are complete, as `decoder` reads them.

    `is_done` is set after `[DONE]`, `failure` after an event that is too large or cannot be read. Anything after either
    is ignored.
    """

    def __init__(self, decoder: Decoder[T]) -> None:
        self.decoder = decoder
        self.is_done = False
        self.failure: ModelError | None = None
        self._tail: list[bytes] = []  # pieces of the last, incomplete line
        self._event: list[bytes] = []  # data lines that are not JSON by themselves
        self._size = 0
        self._is_after_cr = False
        self._is_at_start = True

    def feed(self, data: bytes) -> list[T]:
        if self.is_done or self.failure:
            return []
        if self._is_after_cr or b"\r" in data:
            data = self._with_newlines(data)
        lines = data.split(b"\n")
        rest = lines.pop()
        chunks: list[T] = []
        if lines:
            if self._tail:
                lines[0] = b"".join((*self._tail, lines[0]))
            self._tail = []
            self._size = 0
            chunks = self._read(lines)
        if rest or self._event:
            self._keep(rest)
        return chunks

    def close(self) -> list[T]:
        """End the stream, and return the chunk of a complete last line without a line end."""
        if self.is_done or self.failure:
            return []
        lines, self._tail = [b"".join(self._tail)], []
        chunks = self._read([*lines, b""])
        self.failure = None  # an incomplete event at the end is reported by the assembler
        return chunks

    def _keep(self, rest: bytes) -> None:
        if rest:
            self._tail.append(rest)
            self._size += len(rest)
        if self._size + sum(map(len, self._event)) > MAX_EVENT_BYTES:
            self.failure = self.failure or ModelError(TOO_LARGE)

    def _with_newlines(self, data: bytes) -> bytes:
        if self._is_after_cr and data.startswith(b"\n"):
            data = data[1:]
            self._is_after_cr = False
        if data:
            self._is_after_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _read(self, lines: list[bytes]) -> list[T]:
        if self._is_at_start:
            self._is_at_start = False
            lines[0] = lines[0].removeprefix(BOM)
        chunks: list[T] = []
        decode = self.decoder.fast
        for line in lines:
            if line.startswith(b"data:"):
                if self._event:
                    self._event.append(line[5:])
                    continue
                try:
                    value = line[5:]
                    # A level takes at least four bytes as an object, `{"":`, and two levels at least five, `[{"":`.
                    if (value[SHORT_BYTES:] or b"[[" in value) and may_exceed(value):
                        self._read_unusual(value, chunks)
                    else:
                        chunks.append(decode(value))
                except _UNDECODABLE:
                    self._read_unusual(value, chunks)
            elif line:
                if line.startswith(b"{"):  # servers that fail in mid-stream send their error without the prefix
                    self._read_unusual(line, chunks)
                elif line.startswith(b"error:"):  # llama.cpp
                    self._read_unusual(b'{"error":%b}' % line[6:], chunks)
            elif self._event:
                self._read_event(chunks)
            if self.is_done or self.failure:
                break
        return chunks

    def _read_unusual(self, value: bytes, chunks: list[T]) -> None:
        text = value.strip()
        if len(text) <= len(_LAST[-1]) and text.upper() in _LAST:
            self.is_done = True
        elif text.startswith(b"data:"):  # of a proxy that adds another prefix
            self._read_unusual(text[5:], chunks)
        elif text and text != b"null":
            try:
                chunks.append(self.decoder.read(text))
            except ValueError:
                if documents := _documents(text):
                    for one in documents:
                        self._read_unusual(one, chunks)
                else:
                    self._event.append(text)  # the event may have more lines

    def _read_event(self, chunks: list[T]) -> None:
        event, self._event = b"\n".join(self._event), []
        try:
            chunks.append(self.decoder.read(event))
        except ValueError:
            self.failure = ModelError(NOT_JSON)


def _documents(line: bytes) -> list[bytes]:
    """Return the JSON objects that a line has one after the other, and `[DONE]`; none if it has anything else."""
    text = line.decode("utf-8", "surrogateescape")
    found: list[bytes] = []
    at = 0
    try:
        check_depth(line)
        while at < len(text):
            if text.startswith(("[DONE]", "[done]"), at):
                return [*found, _LAST[0]]
            if text[at] != "{":
                return []
            end = _DOCUMENT.raw_decode(text, at)[1]
            found.append(text[at:end].encode("utf-8", "surrogateescape"))
            at = _NEXT_DOCUMENT.match(text, end).end()  # type: ignore[union-attr]
    except ValueError:
        return []
    return found if len(found) > 1 else []

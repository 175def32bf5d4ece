"""Reads server-sent events from bytes, straight into typed chunks.

Every `data:` line is decoded as it comes, once: servers that forget the blank line between events, and lines that
arrive before their blank line does, lose no time. A line that is not JSON by itself waits for the rest of its event.
Source of the line rules: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

import msgspec

from assistant.core.chunks import Chunk
from assistant.core.model import ModelError
from tools.bounded_json import MAX_DEPTH, check_depth, load_json

MAX_EVENT_BYTES = 4 * 1024 * 1024
TOO_LARGE = "The provider sent more at once than can be read."
NOT_JSON = "The provider sent something that cannot be read."

_decode = msgspec.json.Decoder(Chunk).decode
_UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError)
_BOM = b"\xef\xbb\xbf"


def decode_chunk(payload: bytes) -> Chunk:
    """One JSON document as a chunk. Raises ValueError if it is none, or is nested too deeply.

    The fast decoder refuses halves of characters and NaN, which some servers send; the standard library's does not.
    """
    check_depth(payload)
    try:
        return _decode(payload)
    except _UNDECODABLE:
        return msgspec.convert(load_json(payload.decode("utf-8", "surrogateescape")), Chunk)


class EventReader:
    """Feed it what the socket gives; it gives the chunks that became whole.

    `is_done` once `[DONE]` has come; `failure` once an event was too large or could not be read. Nothing is read
    after either.
    """

    def __init__(self) -> None:
        self.is_done = False
        self.failure: ModelError | None = None
        self._tail: list[bytes] = []  # a line whose end has not come yet, in the pieces it came in
        self._event: list[bytes] = []  # data lines that are no JSON document by themselves
        self._size = 0
        self._is_after_cr = False
        self._is_at_start = True

    def feed(self, data: bytes) -> list[Chunk]:
        if self.is_done or self.failure:
            return []
        if self._is_after_cr or b"\r" in data:
            data = self._with_plain_ends(data)
        lines = data.split(b"\n")
        rest = lines.pop()
        if not lines:
            self._keep(rest)
            return []
        if self._tail:
            lines[0] = b"".join((*self._tail, lines[0]))
        self._tail, self._size = [], 0
        chunks = self._read(lines)
        self._keep(rest)
        return chunks

    def close(self) -> list[Chunk]:
        """The end of the stream has come: what had no line end yet counts if it is whole."""
        if self.is_done or self.failure:
            return []
        lines, self._tail = [b"".join(self._tail)], []
        chunks = self._read([*lines, b""])
        self.failure = None  # an event whose end is missing was cut off, which is for the assembler to judge
        return chunks

    def _keep(self, rest: bytes) -> None:
        if rest:
            self._tail.append(rest)
            self._size += len(rest)
        if self._size + sum(map(len, self._event)) > MAX_EVENT_BYTES:
            self.failure = self.failure or ModelError(TOO_LARGE)

    def _with_plain_ends(self, data: bytes) -> bytes:
        if self._is_after_cr and data.startswith(b"\n"):
            data = data[1:]
            self._is_after_cr = False
        if data:
            self._is_after_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _read(self, lines: list[bytes]) -> list[Chunk]:
        if self._is_at_start:
            self._is_at_start = False
            lines[0] = lines[0].removeprefix(_BOM)
        chunks: list[Chunk] = []
        for line in lines:
            if line.startswith(b"data:"):
                if self._event:
                    self._event.append(line[5:])
                    continue
                try:
                    if (value := line[5:]).count(b"[") + value.count(b"{") > MAX_DEPTH:  # perhaps too deep
                        self._read_odd(value, chunks)
                    else:
                        chunks.append(_decode(value))
                except _UNDECODABLE:
                    self._read_odd(value, chunks)
            elif line:
                if line.startswith(b"{"):  # servers that fail in mid-stream write their error without the prefix
                    self._read_odd(line, chunks)
            elif self._event:
                self._read_event(chunks)
            if self.is_done or self.failure:
                break
        return chunks

    def _read_odd(self, value: bytes, chunks: list[Chunk]) -> None:
        text = value.strip()
        if text == b"[DONE]":
            self.is_done = True
        elif text:
            try:
                chunks.append(decode_chunk(text))
            except ValueError:
                self._event.append(text)  # it may have more lines

    def _read_event(self, chunks: list[Chunk]) -> None:
        event, self._event = b"\n".join(self._event), []
        try:
            chunks.append(decode_chunk(event))
        except ValueError:
            self.failure = ModelError(NOT_JSON)

"""Assembles tool calls from their pieces: which piece belongs to which call, and when a call can be emitted."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

from assistant.core.llm.protocol import ModelError
from assistant.core.values.messages import ToolCall
from assistant.providers.openai_wire.chunks import CallPiece
from assistant.providers.openai_wire.provider_state import merge_fields
from assistant.providers.openai_wire.reply_parts import SplitCharacterJoiner
from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.text import clean_text
from assistant.toolkit.translation import gettext_noop

NO_NAME = gettext_noop("The model asked for a tool without naming it.")
# What Kimi's ids have after the name.
_COUNTED = re.compile(r":\d{1,6}\Z")
MIXED_UP = gettext_noop("The provider mixed up the model's tool calls.")


@dataclass(slots=True, eq=False)
class OpenCall:
    """A call that is being streamed; `index` is its position in the reply, which may differ from the provider's.

    Attributes:
        given_id: the provider's own id; `id` is the one that the reply has.
        extra: what the provider gave with the call for itself.
    """

    index: int
    id: str
    given_id: str
    wire_index: int | None
    name: str = ""
    extra: dict[str, dict[str, Any]] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)
    joiner: SplitCharacterJoiner = field(default_factory=partial(SplitCharacterJoiner, is_exact=True))
    is_whole: bool = False
    is_emitted: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether the arguments are a complete JSON value, to which nothing can be added."""
        if self.is_whole or not self.parts:
            return self.is_whole
        return self.parts[-1].rstrip().endswith("}") and _is_json("".join(self.parts))

    def tool_call(self) -> ToolCall:
        return ToolCall(self.id, self.name, "".join(self.parts))


class CallAssembler:
    """Assembles all calls of one reply.

    Args:
        names: the offered tools; they distinguish a name in pieces from a name that is sent again.
        taken: ids of earlier calls of the conversation: some providers count from zero in every reply, and ids must be
            unique.
    """

    def __init__(self, names: Collection[str] = (), taken: Collection[str] = ()) -> None:
        self.calls: list[OpenCall] = []
        self._names = names
        self._taken = set(taken)
        self._by_wire_index: dict[int, OpenCall] = {}
        self._count_before_chunk = 0
        self._ambiguous: list[tuple[OpenCall, OpenCall]] = []

    def add(self, pieces: Iterable[CallPiece | None]) -> Iterator[tuple[OpenCall, str]]:
        """Add the pieces of one chunk, and yield the calls that can be emitted, each with its new arguments."""
        self._count_before_chunk = len(self.calls)
        for piece in pieces:
            if piece is None:
                continue
            function = piece.function or piece
            name = clean_text(function.name) if function.name else ""
            arguments = function.arguments
            given_id = "" if piece.id is None else clean_text(str(piece.id))
            call = self._find(given_id, piece.index, name, arguments)
            if piece.extra_content is not None:
                merge_fields(call.extra.setdefault("extra_content", {}), piece.extra_content)
            if piece.provider_specific_fields is not None:
                merge_fields(call.extra.setdefault("provider_specific_fields", {}), piece.provider_specific_fields)
            if not call.name:
                call.name = name
            elif name:
                self._add_name(call, name)
            if arguments is None:
                continue
            if not isinstance(arguments, str):
                call.is_whole = True
                arguments = json.dumps(arguments, ensure_ascii=False)
            is_plain = arguments.isascii() and "\x00" not in arguments and not call.joiner.held
            if text := arguments if is_plain else call.joiner.add(arguments):
                if call.is_emitted:
                    call.parts.append(text)
                    yield call, text
                    continue
                if call.parts == ["{}"] and text.startswith("{"):  # some gateways begin every call with an empty object
                    call.parts.clear()
                call.parts.append(text)
                if text != "{}":
                    yield from self._emit(call, text)

    def finish(self) -> Iterator[tuple[OpenCall, str]]:
        """End all calls, and yield what was not emitted yet.

        Raises:
            ModelError: a call has no name, or may have been sent twice.
        """
        for call in self.calls:
            if not call.name:
                raise ModelError(NO_NAME)
            rest = (call.joiner.held and call.joiner.finish()) or ("" if call.parts else "{}")
            if rest or not call.is_emitted:
                call.parts.append(rest)
                yield from self._emit(call, rest)
        if any(self._is_repeated(*pair) for pair in self._ambiguous):
            raise ModelError(MIXED_UP)

    def result(self) -> tuple[ToolCall, ...]:
        return tuple(call.tool_call() for call in self.calls)

    def check_repeated(self, pieces: Iterable[CallPiece | None]) -> None:
        """Raise `ModelError` if the pieces of a repetition contain a call that is not one of these calls."""
        repetition = CallAssembler(self._names)
        for _ in chain(repetition.add(pieces), repetition.finish()):
            pass
        known = {call.canonical for call in self.result()}
        if any(call.canonical not in known for call in repetition.result()):
            raise ModelError(MIXED_UP)

    def _emit(self, call: OpenCall, text: str) -> Iterator[tuple[OpenCall, str]]:
        """Emit a call once its arguments begin: then its name is complete. Earlier calls are emitted first."""
        if call.is_emitted:
            yield call, text
            return
        for earlier in self.calls[: call.index + 1]:
            if not earlier.name:
                return
            if not earlier.is_emitted:
                earlier.is_emitted = True
                if earlier.name not in self._names:
                    earlier.name = offered_name(earlier.name, self._names)
                yield earlier, "".join(earlier.parts)

    def _find(self, given_id: str, wire_index: int | None, name: str, arguments: Any) -> OpenCall:
        if given_id:
            same = next((call for call in self.calls if call.given_id == given_id), None)
            if same is not None and wire_index in (None, same.wire_index):
                return same
        last = self.calls[-1] if self.calls else None
        call = last if wire_index is None else self._by_wire_index.get(wire_index)
        if call is None:
            is_rest = last is not None and last.name and arguments and not (given_id or name or last.is_complete)
            if last is None or not is_rest:
                return self._open(given_id, wire_index)
            self._by_wire_index[wire_index or 0] = call = last  # its pieces have another index than its beginning
        if wire_index is None and name and not given_id:
            if call.index >= self._count_before_chunk:  # no provider splits one call within one list
                return self._open(given_id, wire_index)
            if name == call.name and not call.given_id and (not arguments if call.is_complete else not call.parts):
                raise ModelError(MIXED_UP)
        if (given_id or name) and self._is_another(call, given_id, name, arguments):
            another = self._open(given_id, wire_index)
            if not given_id:
                self._ambiguous.append((call, another))
            return another
        if given_id and not call.given_id:
            call.given_id = given_id
            if given_id not in self._taken and not call.is_emitted:
                call.id = given_id
                self._taken.add(given_id)
        return call

    def _is_another(self, call: OpenCall, given_id: str, name: str, arguments: Any) -> bool:
        """Whether a piece at the position of `call` begins another call. Raises `ModelError` if that is ambiguous."""
        if given_id and call.given_id:
            # Some servers generate an id for every piece: without a name it continues a call with incomplete arguments.
            return given_id != call.given_id and (bool(name) or not arguments or call.is_complete)
        if not name or not call.name:
            return False
        if call.is_complete:
            is_another = bool(arguments) or name != call.name
        else:
            is_another = not call.parts and name != call.name and call.name in self._names and name in self._names
        if is_another and (given_id or call.given_id):
            # A server that sends ids would send one for a new call; this may be a correction instead.
            raise ModelError(MIXED_UP)
        return is_another

    def _is_repeated(self, earlier: OpenCall, later: OpenCall) -> bool:
        """Whether a call without an id may be an earlier one sent again: repeated, or completed."""
        one, other = earlier.tool_call(), later.tool_call()
        known = {call.tool_call().canonical for call in self.calls[: later.index]}
        may_continue = other.name.startswith(one.name) or one.name + other.name in self._names
        return other.canonical in known or (may_continue and _is_within(one.arguments, other.arguments))

    def _open(self, given_id: str, wire_index: int | None) -> OpenCall:
        is_new = given_id and given_id not in self._taken
        call_id = given_id if is_new else f"call_{uuid.uuid4().hex[:24]}"
        self._taken.add(call_id)
        call = OpenCall(len(self.calls), call_id, given_id, wire_index)
        self.calls.append(call)
        if wire_index is not None:
            self._by_wire_index[wire_index] = call
        return call

    def _add_name(self, call: OpenCall, piece: str) -> None:
        """Add to the name that a call has."""
        if call.parts:
            if offered_name(piece, self._names) != offered_name(call.name, self._names):
                raise ModelError(MIXED_UP)
            return
        joined = call.name + piece
        if piece != call.name or piece not in self._names:
            call.name = joined
        elif joined in self._names:
            raise ModelError(MIXED_UP)


def _is_within(arguments: str, others: str) -> bool:
    """Whether other arguments contain all of these; also True if one of the two is not a JSON object."""
    try:
        values, other_values = load_json(arguments), load_json(others)
    except ValueError:
        return True
    if not isinstance(values, dict) or not isinstance(other_values, dict):
        return True
    return all(name in other_values and other_values[name] == value for name, value in values.items())


def _is_json(text: str) -> bool:
    try:
        load_json(text)
    except ValueError:
        return False
    return True


def offered_name(name: str, names: Collection[str]) -> str:
    """Return the offered tool that a name means: models write `functions.` before it, or tokens of a template after.

    A name that cannot be assigned is returned as it is; the tool layer informs the model.
    """
    if name in names:
        return name
    bare = name.partition("<|")[0].strip()
    bare = bare if bare in names else _COUNTED.sub("", bare.removeprefix("functions.").removeprefix("default_api."))
    return bare if bare in names else name

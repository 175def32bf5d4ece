"""Assembles a reply from the events of a Responses stream.

Items are identified by their position or id. What an event that ends an item, or the response, has beyond the deltas is
added; what contradicts them is a `ModelError`, as in `openai_wire.reply_assembler`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from assistant.core.llm.protocol import Delta, ModelError
from assistant.core.values.citations import Citation, bounded
from assistant.core.values.messages import FinishReason, Reply, ToolCall, Usage
from assistant.providers.openai_wire.call_assembler import MIXED_UP, NO_NAME
from assistant.providers.openai_wire.endings import CALL_CUT, CALL_REFUSED, CONTRADICTED, CUT, without_text
from assistant.providers.openai_wire.error_sentences import failure_in_stream
from assistant.providers.openai_wire.reply_parts import UNREADABLE, id_in, plain_text
from assistant.providers.openai_wire.sse import TOO_LARGE, StreamReader
from assistant.providers.responses.annotations import annotation_of
from assistant.providers.responses.endings import reason_of, usage_of
from assistant.providers.responses.events import Event
from assistant.providers.responses.item_state import ItemState, reasoning_state, written_items
from assistant.providers.responses.items import CALL, MESSAGE, REASONING, Item
from assistant.providers.responses.shown_reply import ShownReply
from assistant.providers.responses.web_search import MAX_SEARCHES, SEARCH, returned, search_of
from assistant.toolkit.text import clean_text

# What the database column of usage records can hold.
MAX_MODEL_NAME = 200
# Of one response; most are repeated.
MAX_ANNOTATIONS = 200
_ENDINGS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})


class ResponseAssembler:
    """Assembles one reply: `feed` it events, `take` the deltas, and `finish` returns the reply.

    Args:
        reader: parses the stream; its `is_done` is set when the response has ended, since nothing follows.
        taken: ids of earlier calls of the conversation.
        model: to which, at `origin`, the reply's state goes back.
        begins_thinking: the text begins with reasoning, up to `</think>`, unless the server separates it.
    """

    is_closed = False  # the reader knows that, as after `[DONE]`

    def __init__(
        self,
        *,
        reader: StreamReader[Event],
        taken: Collection[str] = (),
        model: str = "",
        origin: str = "",
        begins_thinking: bool = False,
    ) -> None:
        self._reader = reader
        self._taken = set(taken)
        self._target = model, origin
        self._items: list[Item] = []
        self._by_place: dict[tuple[str, Any], Item] = {}
        self._calls: list[Item] = []
        self._shown = ShownReply(begins_thinking=begins_thinking)
        self._state: list[ItemState] = []
        self._is_state_whole = True
        self._is_refused = self._has_image = False
        self._citations: list[Citation | None] = []
        self._searches = 0
        self._ending: Mapping[str, Any] | None = None
        self._model = ""

    @property
    def is_ended(self) -> bool:
        """Whether the response has ended."""
        return self._ending is not None

    @property
    def usage(self) -> Usage:
        """The tokens that the provider has counted so far."""
        return usage_of((self._ending or {}).get("usage"))

    def feed(self, event: Event, /) -> None:  # noqa: PLR0912 - one case an event
        """Add one event. Raises `ModelError` if it reports a failure, or contradicts what came before."""
        if self.is_ended:
            return
        if failure := event.failure:
            raise failure_in_stream(failure)
        match event.type:
            case "response.output_text.delta":
                self._add(self._item(MESSAGE, event), plain_text(event.delta))
            case "response.refusal.delta":
                self._is_refused = True
                self._add(self._item(MESSAGE, event), plain_text(event.delta))
            case "response.function_call_arguments.delta":
                self._add(self._item(CALL, event), plain_text(event.delta))
            case "response.function_call_arguments.done":
                self._complete_call(self._item(CALL, event), event.arguments)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" | "response.reasoning.delta":
                self._add(self._item(REASONING, event), plain_text(event.delta))
            case "response.reasoning_summary_part.added":
                self._item(REASONING, event).starts_part = True
            case "response.output_text.annotation.added":
                self._cite(event.annotation)
            case "response.output_item.added" if isinstance(event.item, dict):
                self._open(event, event.item)
            case "response.output_item.done" if isinstance(event.item, dict):
                self._close(self._open(event, event.item), event.item)
            case kind if kind in _ENDINGS:
                response = event.response if isinstance(event.response, dict) else {}
                self._end({**response, "status": response.get("status") or str(kind).rpartition(".")[2]})
            case None if event.is_whole:
                self._end(event.as_response)
            case _:
                pass  # progress, and repetitions of what the end of an item has

    def take(self) -> list[Delta]:
        """Return the deltas since `take` was last called; adjacent ones of the same item are joined."""
        return self._shown.take()

    def finish(self, *, is_closed: bool) -> Reply:
        """Return the complete reply. Call `take` once more after it, for deltas that were held back.

        Args:
            is_closed: whether the provider has ended the stream.

        Raises:
            ModelError: the answer is cut off or empty, or its calls are incomplete.
        """
        if self._ending is None and not (is_closed and self._items and all(item.is_done for item in self._items)):
            raise ModelError(CUT, kind="down")
        reason: FinishReason = "stop" if self._ending is None else reason_of(self._ending)
        if self._calls:
            if reason != "stop" or any(call.is_cut for call in self._calls):
                raise ModelError(CALL_CUT)
            if self._is_refused:
                raise ModelError(CALL_REFUSED)
            if not all(call.name for call in self._calls):
                raise ModelError(NO_NAME)
            reason = "tool_calls"
        elif reason == "stop" and self._is_refused:
            reason = "refusal"
        text = self._shown.text
        if reason == "stop" and not text.strip():
            raise without_text(has_media=self._has_image)
        return Reply(
            text=text,
            reasoning=self._shown.reasoning,
            tool_calls=tuple(ToolCall(call.our_id, call.name, call.text) for call in self._calls),
            usage=self.usage,
            finish_reason=reason,
            model=clean_text(self._model)[:MAX_MODEL_NAME],
            response_id=id_in(self._ending.get("id")) if self._ending else "",
            provider_state=self._take_state() if reason in ("stop", "tool_calls") else "",
            citations=bounded(self._citations),
        )

    def _item(self, kind: str, event: Event, own_id: Any = None) -> Item:
        """Return the item that an event is about, by its position or its id; a new one if there is none yet."""
        places = [(kind, place) for place in (event.output_index, event.item_id or own_id) if _is_place(place)]
        item = next((self._by_place[place] for place in places if place in self._by_place), None) or self._new(kind)
        self._by_place.update(dict.fromkeys(places, item))
        return item

    def _new(self, kind: str) -> Item:
        item = Item(kind)
        self._searches += kind == SEARCH
        if self._searches > MAX_SEARCHES:  # the server was asked for no more, but may ignore that
            raise ModelError(TOO_LARGE)
        if kind == CALL:
            item.index = len(self._calls)
            self._calls.append(item)
        self._items.append(item)
        return item

    def _open(self, event: Event, raw: Mapping[str, Any]) -> Item:
        kind = raw.get("type")
        if not isinstance(kind, str):
            raise ModelError(UNREADABLE)
        item = self._item(kind, event, raw.get("id"))
        self._name(item, raw)
        return item

    def _name(self, item: Item, raw: Mapping[str, Any]) -> None:
        """Take a call's name and id from its item once they are known, and show that it begins."""
        name, call_id = raw.get("name"), raw.get("call_id") or raw.get("id")
        if item.kind == CALL and not item.name and isinstance(name, str) and name:
            own = clean_text(call_id) if isinstance(call_id, str) else ""
            item.set_name(clean_text(name), own, "" if own in self._taken else own)
            self._taken.add(item.our_id)
            self._shown.begin_call(item)

    def _close(self, item: Item, raw: Mapping[str, Any]) -> None:
        """Complete an item from the event that ends it, or from the response's list of items."""
        if item.is_done:
            return
        item.is_done = True
        match item.kind:
            case "message":
                self._close_message(item, raw)
            case "function_call":
                self._complete_call(item, raw.get("arguments"))
                item.is_cut = raw.get("status") == "incomplete"
                self._state.append(ItemState("call", id=_text_of(raw, "id"), call_id=item.call_id))
            case "reasoning":
                self._close_reasoning(item, raw)
            case kind if kind == SEARCH:
                self._state.append(ItemState("search", fields=returned(raw)))
                self._shown.add_call(replace(search_of(raw), provider_state=self._take_state()))
            case "image_generation_call":
                self._has_image = True
                self._is_state_whole = False  # an image does not go back
            case kind if kind.endswith("_call"):
                # The answer depends on a tool that is neither offered nor shown here.
                raise ModelError(UNREADABLE)

    def _close_message(self, item: Item, raw: Mapping[str, Any]) -> None:
        texts = []
        for part in raw.get("content") or ():
            kind = part.get("type") if isinstance(part, dict) else ""
            self._is_refused |= kind == "refusal"
            for annotation in (part.get("annotations") if isinstance(part, dict) else None) or ():
                self._cite(annotation)
            texts.append(plain_text(part.get("refusal" if kind == "refusal" else "text")) if kind else plain_text(part))
        rest = item.rest_of("".join(texts))
        if rest is None:
            raise ModelError(CONTRADICTED)
        self._shown.add(item, rest)
        is_cut = bool(self._calls) or (self._ending or {}).get("status") == "incomplete"
        self._shown.end_message(item, is_cut=is_cut)
        characters = sum(map(len, item.parts))
        self._state.append(
            ItemState("text", id=_text_of(raw, "id"), phase=_text_of(raw, "phase"), characters=characters)
        )

    def _close_reasoning(self, item: Item, raw: Mapping[str, Any]) -> None:
        if not item.parts:
            for part in raw.get("summary") or raw.get("content") or ():
                item.starts_part = True
                self._add(item, plain_text(part.get("text") if isinstance(part, dict) else part))
        if (state := reasoning_state(raw)) is None:
            self._is_state_whole = False
        else:
            self._state.append(state)

    def _complete_call(self, call: Item, arguments: Any) -> None:
        """Add what whole arguments have beyond the pieces. Raises `ModelError` if they contradict these."""
        whole = arguments if isinstance(arguments, str) else "" if arguments is None else _as_json(arguments)
        if (rest := call.rest_of(whole)) is None:
            raise ModelError(MIXED_UP)
        self._shown.add(call, rest)
        if call.is_done and not call.parts:
            self._shown.add(call, "{}")

    def _end(self, response: Mapping[str, Any]) -> None:
        """Note the end of the response, and add what its list of items has beyond the events."""
        self._reader.is_done = True
        self._ending = response
        self._model = _text_of(response, "model")
        if response["status"] not in ("completed", "incomplete"):
            return
        # Servers number items differently in their events and in this list, so items of a kind are paired in order.
        waiting: dict[str, list[Item]] = {}
        for item in self._items:
            waiting.setdefault(item.kind, []).append(item)
        for raw in response.get("output") or ():
            kind = _text_of(raw, "type")
            if kind:
                item = waiting[kind].pop(0) if waiting.get(kind) else self._new(kind)
                self._name(item, raw)
                self._close(item, raw)
        for item in self._items:
            self._close(item, {})

    def _cite(self, annotation: Any) -> None:
        if len(self._citations) < MAX_ANNOTATIONS:
            self._citations.append(annotation_of(annotation))

    def _add(self, item: Item, piece: str) -> None:
        self._shown.add(item, item.joiner.add(piece))

    def _take_state(self) -> str:
        items, self._state = self._state, []
        return written_items(*self._target, items, is_whole=self._is_state_whole)


def _is_place(place: Any) -> bool:
    return isinstance(place, int) or (isinstance(place, str) and bool(place))


def _text_of(raw: Any, name: str) -> str:
    found = raw.get(name) if isinstance(raw, dict) else None
    return found if isinstance(found, str) else ""


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

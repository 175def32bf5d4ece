"""Selects the messages that a model is sent: always a valid conversation, within limits of tokens and messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from assistant.core.values.messages import Message
from assistant.toolkit.calls.call import cut

NO_RESULT = "There is no result of this call."
CLEARED = "[Removed to save room. Call the tool again if you still need this.]"
# How many of the newest rounds of calls always keep their results.
KEPT_ROUNDS = 2
# These results are never shortened below this, even if that exceeds the limit.
MIN_RESULT_TOKENS = 50
# An estimate for an image, at the sizes to which providers scale images.
IMAGE_TOKENS = 1_000
# What a provider adds to every message: its role and delimiters.
MESSAGE_OVERHEAD = 4


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text as a quarter of its UTF-8 bytes: close for English, too high for code."""
    return (len(text) if text.isascii() else len(text.encode("utf-8", "replace"))) // 4 + 1 if text else 0


def estimate(message: Message) -> int:
    """Estimate the tokens of a message."""
    tokens = MESSAGE_OVERHEAD + estimate_tokens(message.content) + IMAGE_TOKENS * len(message.media)
    if message.media and message.role == "user":  # a PDF is sent as a file, or as this text
        tokens += sum(estimate_tokens(one.description) for one in message.media)
    if message.page:
        tokens += estimate_tokens(message.page)
    if message.provider_state:  # such as reasoning, which goes back
        tokens += estimate_tokens(message.provider_state)
    for call in message.tool_calls:
        tokens += estimate_tokens(call.name) + estimate_tokens(call.arguments)
    return tokens


@dataclass(slots=True)
class Estimates:
    """Caches `estimate` by message: a run sends the same messages with every request."""

    # Keeps the message alive, so that no other object gets its id.
    _known: dict[int, tuple[Message, int]] = field(default_factory=dict)

    def of(self, messages: Iterable[Message]) -> int:
        """Estimate the tokens of the messages together."""
        total = 0
        for message in messages:
            known = self._known.get(id(message))
            if known is None:
                known = self._known[id(message)] = (message, estimate(message))
            total += known[1]
        return total


def repair(messages: Iterable[Message]) -> list[Message]:
    """Return a conversation that is valid for every provider.

    Each call gets exactly one result, right after the message with the call. Results without a call, empty assistant
    messages and superseded ones are dropped.
    """
    units: list[tuple[Message, dict[str, Message]]] = []
    waiting: dict[str, dict[str, Message]] = {}
    no_results: dict[str, Message] = {}
    for message in messages:
        if message.is_superseded:
            continue
        if message.role == "tool":
            results = waiting.pop(message.tool_call_id, None)
            if results is not None:
                results[message.tool_call_id] = message
        elif message.tool_calls:
            results_of_message: dict[str, Message] = {}
            units.append((message, results_of_message))
            waiting.update((call.id, results_of_message) for call in message.tool_calls)
        elif message.role != "assistant" or (message.content and not message.content.isspace()):
            units.append((message, no_results))
    valid: list[Message] = []
    for message, results in units:
        valid.append(message)
        if message.tool_calls:
            valid.extend(
                results.get(call.id) or Message("tool", NO_RESULT, tool_call_id=call.id) for call in message.tool_calls
            )
    return valid


def trim(messages: Sequence[Message], *, tokens: int, estimates: Estimates, count: int = 0) -> list[Message]:
    """Return the part of a valid conversation that fits the limits.

    `clear_results` removes old tool results first, then `fit` removes old messages. A limit of 0 is none.

    Args:
        tokens: estimated tokens that may be sent.
        count: messages that may be sent, without the system prompt.
    """
    if not (tokens or count):
        return list(messages)
    first_role = next((message.role for message in messages if message.role != "system"), "user")
    has_room = not count or len(messages) <= count
    if first_role == "user" and has_room and (not tokens or estimates.of(messages) <= tokens):
        return list(messages)
    newest = fit(messages, count=count)
    return fit(clear_results(newest, tokens=tokens), tokens=tokens)


def clear_results(messages: Sequence[Message], *, tokens: int) -> list[Message]:
    """Remove old tool results, oldest first, until the conversation fits `tokens` or none is left to remove.

    The calls stay, so that the model knows what it has done. Results of the newest rounds of calls are not removed,
    but shortened if they alone are too long.
    """
    excess = sum(map(estimate, messages)) - tokens if tokens else 0
    if excess <= 0:
        return list(messages)
    rounds = [index for index, message in enumerate(messages) if message.tool_calls]
    newest = rounds[-KEPT_ROUNDS] if len(rounds) >= KEPT_ROUNDS else 0
    cleared: list[Message] = []
    for index, message in enumerate(messages):
        is_long_result = message.role == "tool" and (len(message.content) > 2 * len(CLEARED) or message.media)
        if excess > 0 and index < newest and is_long_result:
            smaller = replace(message, content=CLEARED, media=())
            excess -= estimate(message) - estimate(smaller)
            cleared.append(smaller)
        else:
            cleared.append(message)
    return _shorten_results(cleared, newest, tokens) if excess > 0 else cleared


def _shorten_results(messages: Sequence[Message], newest: int, tokens: int) -> list[Message]:
    """Shorten the results of the newest rounds, so that together they have at most half of the tokens."""
    indexes = {index for index, message in enumerate(messages) if message.role == "tool" and index >= newest}
    share = max(MIN_RESULT_TOKENS, tokens // (2 * len(indexes) or 1))
    return [
        replace(message, content=cut(message.content, share)) if index in indexes else message
        for index, message in enumerate(messages)
    ]


def fit(messages: Sequence[Message], *, tokens: int = 0, count: int = 0) -> list[Message]:
    """Return the newest part of a valid conversation that fits.

    The system prompt, the last user message and the newest message (with the results of its calls) always stay, even
    if they alone exceed the limits. A call is never separated from its results.

    Args:
        messages: a valid conversation, as `repair` returns it.
        tokens: estimated tokens that may be sent; 0 for any number.
        count: messages that may be sent, without the system prompt; 0 for any number.
    """
    head = next((i for i, message in enumerate(messages) if message.role != "system"), len(messages))
    units = _units(messages[head:])
    if not units or not (tokens or count):
        return list(messages)
    last_user = max((i for i, unit in enumerate(units) if unit[0].role == "user"), default=len(units) - 1)
    budget = _Budget(tokens, count)
    budget.take(messages[:head], counts=False)
    kept = {len(units) - 1, last_user}
    for i in kept:
        budget.take(units[i])
    for i in range(len(units) - 2, -1, -1):
        if i in kept:
            continue
        if not budget.has_room(units[i]):
            break
        budget.take(units[i])
        kept.add(i)
    return [*messages[:head], *_from_user_message(units, kept, last_user)]


def _from_user_message(units: Sequence[Sequence[Message]], kept: set[int], last_user: int) -> list[Message]:
    """Return the kept units from the first user message on: providers require a conversation to begin with one."""
    first = next((i for i in sorted(kept) if units[i][0].role == "user"), last_user)
    return [message for i in sorted(kept) if i >= first for message in units[i]]


def _units(messages: Sequence[Message]) -> list[list[Message]]:
    units: list[list[Message]] = []
    for message in messages:
        if message.role == "tool" and units:
            units[-1].append(message)
        else:
            units.append([message])
    return units


class _Budget:
    """The tokens and messages that may still be sent."""

    def __init__(self, tokens: int, count: int) -> None:
        self._tokens: float = tokens or float("inf")
        self._count: float = count or float("inf")

    def take(self, messages: Sequence[Message], *, counts: bool = True) -> None:
        self._tokens -= sum(map(estimate, messages))
        self._count -= len(messages) if counts else 0

    def has_room(self, messages: Sequence[Message]) -> bool:
        return sum(map(estimate, messages)) <= self._tokens and len(messages) <= self._count

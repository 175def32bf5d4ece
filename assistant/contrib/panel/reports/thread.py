"""A conversation for operators: its messages in the order of its runs, each run with its waterfall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assistant.contrib.panel.reports.waterfall import Waterfall, waterfalls
from assistant.models import Conversation, Feedback, Message, Run, ToolCall

SHOWN_MESSAGES = 50
SHOWN_RUNS = 50
# Characters of arguments and results that are shown; the call's page has all of them.
MAX_SHOWN = 2_000


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A tool call of a message: what was asked for and what came back, both cut; `row` is None for a client's tool."""

    name: str
    arguments: str
    result: str
    row: ToolCall | None


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message of the member or the assistant, with the tool calls that it made and its rating."""

    row: Message
    calls: tuple[ShownCall, ...]
    feedback: Feedback | None


@dataclass(frozen=True, slots=True)
class Exchange:
    """The messages of one run; `waterfall` is None if it was deleted or is not one of the newest that are shown."""

    messages: tuple[ShownMessage, ...]
    waterfall: Waterfall | None


@dataclass(frozen=True, slots=True)
class Thread:
    """A part of a conversation; `older` is the position before which there is more, or None."""

    exchanges: tuple[Exchange, ...]
    older: int | None
    is_newest: bool


def read_thread(*, conversation: Conversation, before: int | None = None, run: int | None = None) -> Thread:
    """Return `SHOWN_MESSAGES` messages with their runs; the number of queries does not depend on their number.

    Args:
        before: the position before which they are; None for the newest.
        run: the primary key of a run that they end with, instead.
    """
    own = Message.objects.filter(conversation=conversation, conversation__tenant=conversation.tenant_id)
    if run is not None:
        last = own.filter(run=run).order_by("-position").values_list("position", flat=True).first()
        before = None if last is None else last + 1
    rows = own if before is None else own.filter(position__lt=before)
    newest = list(rows.order_by("-position")[: SHOWN_MESSAGES + 1])
    shown = newest[:SHOWN_MESSAGES][::-1]
    runs = _runs(conversation, shown, is_newest=before is None)
    falls = waterfalls(runs=runs, tenant_id=conversation.tenant_id)
    messages = _messages(conversation, shown)
    return Thread(
        exchanges=tuple(_exchanges(messages, runs, falls)),
        older=shown[0].position if len(newest) > SHOWN_MESSAGES else None,
        is_newest=before is None,
    )


def _runs(conversation: Conversation, shown: Sequence[Message], *, is_newest: bool) -> list[Run]:
    """Return the runs of the messages, and of the newest runs those that have stored none."""
    rows = Run.objects.filter(conversation=conversation, tenant=conversation.tenant_id)
    rows = rows.select_related("prompt_version", "api_key", "tenant", "assistant").defer("partial", "ending")
    named = {message.run_id for message in shown if message.run_id is not None}
    found = list(rows.filter(pk__in=named).order_by("-number")[:SHOWN_RUNS])
    if is_newest:
        silent = rows.exclude(pk__in=named).order_by("-number")[:SHOWN_RUNS]
        oldest = min((run.number for run in found), default=0)
        found += [run for run in silent if run.number > oldest]
    return sorted(found, key=lambda run: run.number)


def _messages(conversation: Conversation, shown: Sequence[Message]) -> list[ShownMessage]:
    results = {message.tool_call_id: message.content for message in shown if message.role == Message.Role.TOOL}
    asked = [str(call.get("id", "")) for message in shown for call in message.tool_calls]
    calls = ToolCall.objects.filter(
        tenant=conversation.tenant_id, run__conversation=conversation, call_id__in=asked
    ).defer("arguments", "result", "told", "display", "asked", "questions")
    rows = {call.call_id: call for call in calls}
    ratings = Feedback.objects.filter(tenant=conversation.tenant_id, message__in=[one.pk for one in shown])
    feedback = {one.message_id: one for one in ratings}
    return [
        ShownMessage(
            row=message,
            calls=tuple(_call(one, results, rows) for one in message.tool_calls),
            feedback=feedback.get(message.pk),
        )
        for message in shown
        if message.role != Message.Role.TOOL
    ]


def _call(call: Mapping[str, str], results: Mapping[str, str], rows: Mapping[str, ToolCall]) -> ShownCall:
    call_id = str(call.get("id", ""))
    return ShownCall(
        str(call.get("name", "")),
        str(call.get("arguments", ""))[:MAX_SHOWN],
        results.get(call_id, "")[:MAX_SHOWN],
        rows.get(call_id),
    )


def _exchanges(messages: Sequence[ShownMessage], runs: Sequence[Run], falls: Mapping[int, Waterfall]) -> list[Exchange]:
    """Return the messages by run, in the order of the first message of each; runs without messages by their number."""
    by_run: dict[int | None, list[ShownMessage]] = {}
    for message in messages:
        by_run.setdefault(message.row.run_id, []).append(message)
    numbers = {run.pk: run.number for run in runs}
    silent = [run for run in runs if run.pk not in by_run]
    found = []
    for pk, theirs in by_run.items():
        number = numbers.get(pk or 0)
        while silent and number is not None and silent[0].number < number:
            found.append(Exchange((), falls.get(silent.pop(0).pk)))
        found.append(Exchange(tuple(theirs), falls.get(pk or 0)))
    return found + [Exchange((), falls.get(run.pk)) for run in silent]


def number_of(text: str, *, digits: int) -> int | None:
    """Return the number of a query parameter; None if it is none, or has more digits than its column can hold."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None

"""Finds, reads and deletes stored responses, and the messages of those before them."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from itertools import accumulate
from typing import Any

from django.db.models import Count

from assistant.contrib.openai_api.models import StoredResponse
from assistant.contrib.openai_api.services.request_fields import MAX_MESSAGES
from assistant.contrib.openai_api.services.responses.ids import conversation_of
from assistant.contrib.openai_api.services.responses.output_items import ItemWriter, ids_of
from assistant.core.values.messages import Message
from assistant.models import Conversation, Run, ToolCall
from assistant.models import Message as MessageRow
from assistant.services.conversations.added_details import added_details
from assistant.services.conversations.stored_messages import to_message
from assistant.services.eventlog.configured import configured_log
from assistant.services.runs.reading.stored_thread import readable_runs
from assistant.services.tenancy.members import Member
from assistant.services.toolpolicy import catalogue

# How many earlier responses are read to continue one; older ones are left out, since they would not fit the model's
# context anyway.
MAX_CHAIN = 200
STATUSES: Mapping[str, str] = {
    Run.Status.QUEUED: "queued",
    Run.Status.RUNNING: "in_progress",
    Run.Status.FINISHED: "completed",
    Run.Status.WAITING: "completed",
    Run.Status.CANCELLED: "cancelled",
    Run.Status.FAILED: "failed",
    Run.Status.INTERRUPTED: "failed",
}


class ResponseBusy(Exception):
    """The response is still being answered, and cannot be deleted."""


def find_response(*, member: Member, response: str, unstored: Collection[str] = ()) -> Run | None:
    """Return the run of a response that the member's key may read, with its conversation and assistant; None without.

    Args:
        unstored: ids of responses that may be found although their callers did not let them be stored.
    """
    conversation = conversation_of(response)
    if conversation is None:
        return None
    own = readable_runs(member).filter(conversation_id=conversation, run_id=response, stored_response__isnull=False)
    run = own.select_related("conversation", "assistant", "stored_response").first()
    return run if run is not None and (echo_of(run)["store"] or response in unstored) else None


def echo_of(run: Run) -> Mapping[str, Any]:
    """Return what the caller of a response asked for."""
    echo: Mapping[str, Any] = run.stored_response.echo
    return echo


def writer_of(run: Run) -> ItemWriter:
    return writer_for(run.conversation_id, run.assistant.slug, echo_of(run))


def writer_for(conversation: uuid.UUID, assistant: str, echo: Mapping[str, Any]) -> ItemWriter:
    """Return the writer of a response's items. A tool of the server is never replaced by one of the caller's."""
    named, registry = (str(tool["name"]) for tool in echo["tools"]), catalogue.registry()
    return ItemWriter(conversation, assistant, frozenset(name for name in named if name not in registry))


def response_body(member: Member, run: Run) -> dict[str, Any]:
    """Return a response as its caller reads it. The output of one in progress is empty."""
    _, added = _messages_of(run)
    ending = run.ending or {}
    outcome = ending.get("outcome") or {}
    calls = ToolCall.objects.filter(tenant_id=run.tenant_id, run=run, agent="").exclude(status=ToolCall.Status.OK)
    output = writer_of(run).output(
        added,
        pending=outcome.get("pendingToolCallIds") or (),
        waiting=ids_of(outcome.get("interrupts") or ()),
        failed=set(calls.values_list("call_id", flat=True)),
        added=added_details(member=member, runs=[run], only_annotating=True).get(run.pk, {}),
    )
    status = STATUSES[run.status]
    is_cut = status == "completed" and any(one.is_partial for one in added)
    error = {"code": run.error_code, "message": run.error_message} if status == "failed" else None
    return body_of(
        run.run_id,
        echo_of(run),
        created_at=int(run.started_at.timestamp()),
        completed_at=int(run.ended_at.timestamp()) if run.ended_at and status == "completed" and not is_cut else None,
        status="incomplete" if is_cut else status,
        output=output,
        usage=usage_of(ending.get("usage") or ()) if run.ended_at else None,
        error=error,
        incomplete=_reason(run) if is_cut else None,
    )


def _reason(run: Run) -> str:
    """Return why a response was cut off, as OpenAI names it."""
    rounds = (run.timeline or {}).get("rounds") or [{}]
    return "content_filter" if rounds[-1].get("finish") == "content_filter" else "max_output_tokens"


def body_of(
    response: str,
    echo: Mapping[str, Any],
    *,
    created_at: int,
    status: str,
    output: list[dict[str, Any]],
    completed_at: int | None = None,
    usage: Mapping[str, Any] | None = None,
    error: Mapping[str, Any] | None = None,
    incomplete: str | None = None,
) -> dict[str, Any]:
    """Return a response in OpenAI's shape."""
    return {
        "id": response,
        "object": "response",
        "created_at": created_at,
        "completed_at": completed_at,
        "status": status,
        "error": error,
        "incomplete_details": {"reason": incomplete} if incomplete else None,
        "output": output,
        "usage": usage,
        **echo,
    }


def usage_of(spent: Collection[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the tokens of all of a run's models together, from AG-UI's entries."""

    def total(name: str) -> int:
        return sum(one.get(name) or 0 for one in spent)

    read, written = total("inputTokens"), total("outputTokens")
    return {
        "input_tokens": read,
        "input_tokens_details": {
            "cached_tokens": total("cachedInputTokens"),
            "cache_write_tokens": total("cacheWriteInputTokens"),
        },
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": total("reasoningTokens")},
        "total_tokens": read + written,
    }


def input_items(run: Run) -> list[dict[str, Any]]:
    """Return the items of a response's input, oldest first."""
    given, _ = _messages_of(run)
    writer = writer_of(run)
    return [item for message in given for item in writer.input_item(message)]


def messages_before(*, member: Member, run: Run) -> list[Message]:
    """Return the messages of a response and of those that it continues, oldest first.

    The `instructions` of earlier responses are left out, and so are the oldest responses if all together have more
    messages than a request may have.
    """
    pks, earlier = [run.pk], run.follows
    while (conversation := conversation_of(earlier)) is not None and len(pks) < MAX_CHAIN:
        own = Run.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id, conversation_id=conversation)
        found = own.filter(run_id=earlier).values_list("pk", "follows").first()
        if found is None:
            break
        pks.append(found[0])
        earlier = found[1]
    rows = MessageRow.objects.filter(
        run_id__in=pks, conversation__tenant_id=member.tenant_id, conversation__user_id=member.user_id
    )
    counts: dict[int | None, int] = dict(rows.order_by().values_list("run_id").annotate(count=Count("pk")))
    together = list(accumulate(counts.get(pk, 0) for pk in pks))
    pks = [pk for pk, count in zip(pks, together, strict=True) if pk == run.pk or count <= MAX_MESSAGES]
    rows = rows.filter(run_id__in=pks)
    place = {pk: index for index, pk in enumerate(reversed(pks))}
    ordered = sorted(rows.defer("reasoning"), key=lambda row: (place[row.run_id or 0], row.position))
    return [to_message(row) for row in ordered]


def delete_response(*, run: Run) -> None:
    """Delete a response. One of a conversation is forgotten; its messages stay there.

    Raises:
        ResponseBusy: it is still being answered.
    """
    if run.is_active:
        raise ResponseBusy
    if run.conversation.is_stateless:
        own = Conversation.objects.filter(pk=run.conversation_id, tenant_id=run.tenant_id, user_id=run.user_id)
        own.filter(is_stateless=True).delete()
        configured_log().forget([str(run.conversation_id)])
    else:
        StoredResponse.objects.filter(run=run, tenant_id=run.tenant_id).delete()


def stored_message(
    *, member: Member, conversation: uuid.UUID, message_id: str = "", call_id: str = ""
) -> list[Message]:
    """Return a message of a stored response by its id, or that with a call, and the call's result; nothing without.

    A result has no id of its own here, so that it cannot be mistaken for a message of a person.
    """
    rows = MessageRow.objects.filter(
        conversation_id=conversation,
        conversation__tenant_id=member.tenant_id,
        run__in=readable_runs(member).filter(stored_response__echo__store=True),
    )
    if message_id:
        return [to_message(row) for row in rows.filter(message_id=message_id).exclude(role=MessageRow.Role.TOOL)]
    found = [to_message(row) for row in rows.exclude(role=MessageRow.Role.USER).order_by("position")]
    called = [one for one in found if any(call.id == call_id for call in one.tool_calls)]
    return [*called[:1], *(one for one in found if one.tool_call_id == call_id)] if called else []


def _messages_of(run: Run) -> tuple[list[Message], list[Message]]:
    """Return the messages that a response was given, and those that it added."""
    rows = MessageRow.objects.filter(run=run, conversation__tenant_id=run.tenant_id).order_by("position")
    messages = [to_message(row) for row in rows]
    count = run.stored_response.inputs
    if count is not None:
        return messages[:count], messages[count:]
    given = [one for one in messages if one.role == "user" or one.from_caller]
    return given, [one for one in messages if one not in given]

"""Turns a request of the Responses API into a run's input: reads earlier responses, references and uploaded files."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator
from functools import partial

from assistant.contrib.openai_api.models import StoredResponse
from assistant.contrib.openai_api.services.request_fields import InvalidRequest, check_turns
from assistant.contrib.openai_api.services.responses.ids import conversation_of, file_id, parse_item_id
from assistant.contrib.openai_api.services.responses.input_items import (
    Answered,
    Approved,
    Called,
    Item,
    Referred,
    Said,
    new_messages,
)
from assistant.contrib.openai_api.services.responses.request import ResponseRequest
from assistant.contrib.openai_api.services.responses.stored import find_response, messages_before, stored_message
from assistant.contrib.openai_api.services.stateless_runs import StatelessInput
from assistant.core.values.messages import Message, without_part
from assistant.models import Run
from assistant.services.errors import Refused
from assistant.services.files.attachments import find_attachment
from assistant.services.runs.content_parts import REFUSED, InlineFile
from assistant.services.runs.run_input import CallerSettings
from assistant.services.tenancy.members import Member


def stateless_input(
    *, member: Member, wanted: ResponseRequest, response: str, unstored: Collection[str] = ()
) -> StatelessInput:
    """Return the input of a response that is in no conversation. Queries the database.

    Args:
        response: the id of the new response.
        unstored: ids of responses that were not stored and may be continued nevertheless.

    Raises:
        InvalidRequest: an earlier response, or an item, is not there, or the messages are in no order.
        Refused: `attachment_refused`, a file is not there.
    """
    before = _messages_before(member, wanted.previous, unstored)
    items = list(resolved(member, wanted.items))
    turns = new_messages(items, inline=partial(inline_file, member))
    if not turns.messages:
        raise InvalidRequest("input", "must have something to answer.")
    check_turns([*before, *turns.messages], [*("previous_response_id" for _ in before), *turns.where], name="input")
    told = [Message("user", wanted.instructions, id=uuid.uuid4().hex)] if wanted.instructions.strip() else []
    return StatelessInput(
        run_id=response,
        messages=(*told, *before, *turns.messages),
        new=len(turns.messages),
        question=turns.question,
        files=dict(turns.files),
        thread_id=conversation_of(response),
        client_tools=wanted.client_tools,
        asked=CallerSettings(
            options=wanted.options, tool_choice=wanted.tool_choice, response_format=wanted.response_format
        ),
        follows=wanted.previous,
        on_begun=partial(store_request, wanted, inputs=len(turns.messages)),
    )


def store_request(wanted: ResponseRequest, run: Run, *, inputs: int | None = None) -> None:
    """Store what a request asked for with its run.

    Args:
        inputs: how many messages of the run are its input; None for one in a conversation.
    """
    StoredResponse.objects.create(tenant_id=run.tenant_id, run=run, echo=dict(wanted.echo), inputs=inputs)


def _messages_before(member: Member, previous: str, unstored: Collection[str]) -> list[Message]:
    if not previous:
        return []
    run = find_response(member=member, response=previous, unstored=unstored)
    if run is None:
        sentence = "there is no such response."
        raise InvalidRequest("previous_response_id", sentence, error_code="previous_response_not_found")
    if not run.conversation.is_stateless:
        raise InvalidRequest("previous_response_id", "belongs to a conversation: send conversation in its place.")
    if run.status != Run.Status.FINISHED:
        raise InvalidRequest("previous_response_id", "is no complete response, and cannot be continued.")
    return messages_before(member=member, run=run)


def resolved(member: Member, items: Collection[Item]) -> Iterator[Said | Called | Answered]:
    """Yield items with stored ones in place of references. Raises `InvalidRequest`."""
    for item in items:
        match item:
            case Referred():
                yield from _referred(member, item)
            case Approved():
                raise InvalidRequest(item.where, "approvals are given in a conversation alone.")
            case _:
                yield item


def _referred(member: Member, item: Referred) -> Iterator[Said | Called | Answered]:
    found = parse_item_id(item.id)
    kind, conversation, rest = found or ("", uuid.UUID(int=0), "")
    if kind == "rs":
        return
    by = {"message_id": rest} if kind == "msg" else {"call_id": rest}
    messages = stored_message(member=member, conversation=conversation, **by) if found else []
    whole = without_part(rest)
    if not messages and whole != rest and stored_message(member=member, conversation=conversation, message_id=whole):
        return  # the text of a later part comes with the first part
    if not messages:
        sentence = f"there is no item with the id {item.id[:200]!r}."
        raise InvalidRequest(item.where, sentence, error_code="item_not_found")
    first = messages[0]
    if kind == "msg":
        yield Said(first.role, first.content, item.where, sources=first.sources)
        return
    call = next(call for call in first.tool_calls if call.id == rest)
    result = messages[1].content if len(messages) > 1 else ""
    yield Called(call, item.where, None if kind == "fc" else result)


def inline_file(member: Member, attachment: uuid.UUID) -> InlineFile:
    """Return a file that the member has uploaded. A message gets a copy of it.

    Raises:
        Refused: `attachment_refused`, there is none, another key uploaded it to the Files API, or it was sent in a
            conversation that the member's key may not read.
    """
    row = find_attachment(member=member, attachment_id=attachment)
    if row is None or (row.conversation_id is not None and member.reads_only_own_runs):
        raise Refused(REFUSED, f"There is no file {file_id(attachment)}.")
    try:
        with row.file.open("rb") as stored:
            return InlineFile(row.name, stored.read())
    except OSError as exc:
        raise Refused(REFUSED, f"The file {file_id(attachment)} cannot be read.") from exc

"""Responses within a conversation, whose history the server keeps, as in the other APIs."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db.models import Q

from assistant.contrib.openai_api.services.request_fields import InvalidRequest
from assistant.contrib.openai_api.services.responses.ids import parse_item_id
from assistant.contrib.openai_api.services.responses.input_items import Answered, Approved, Called, Said, new_messages
from assistant.contrib.openai_api.services.responses.output_items import ItemWriter
from assistant.contrib.openai_api.services.responses.prepare import inline_file, resolved, store_request
from assistant.contrib.openai_api.services.responses.request import ResponseRequest
from assistant.models import Conversation
from assistant.services.conversations.stored_messages import recent_messages
from assistant.services.conversations.thread_keys import find_thread
from assistant.services.runs.input.ids import parse_id
from assistant.services.runs.input.resume_entries import Resume
from assistant.services.runs.run_input import CallerSettings, RunInput, TextMessage, ToolAnswer, check_text
from assistant.services.tenancy.members import Member

_CONVERSATION = re.compile(r"conv_(?P<id>[0-9a-f]{32})")
HISTORY = "is not taken in a conversation, whose history the server keeps: leave conversation out, or the item."


def conversation_id(conversation: uuid.UUID) -> str:
    """Return the id of a conversation as OpenAI's clients know it."""
    return f"conv_{conversation.hex}"


def find_conversation(*, member: Member, assistant: str, name: str) -> uuid.UUID | None:
    """Return the id of the member's conversation that a caller names; None if there is none, so that it begins one.

    Args:
        assistant: its slug.
        name: the key that its client chose, or its id, as the REST API or `conversation_id` writes it.
    """
    found = find_thread(member=member, assistant_slug=assistant, thread=name)
    named = _CONVERSATION.fullmatch(name)
    if found is None and named is not None:
        return find_thread(member=member, assistant_slug=assistant, thread=str(uuid.UUID(named["id"])))
    return found


def own_conversation(*, member: Member, name: str) -> Conversation | None:
    """Return a conversation of the member with its assistant, which may be any; None if there is none."""
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    named = _CONVERSATION.fullmatch(name)
    identity = Q(thread_key=name) | Q(pk=uuid.UUID(named["id"])) if named else Q(thread_key=name)
    return own.filter(identity).select_related("assistant").order_by("created_at").first()


def conversation_input(
    *, member: Member, wanted: ResponseRequest, response: str, conversation: uuid.UUID, is_new: bool
) -> RunInput:
    """Return the input of a response in a conversation. Queries the database.

    Raises:
        InvalidRequest: it has items that only the server may add, or nothing to answer.
        Refused: `attachment_refused`, a file is not there; `invalid_input`, a text is too long.
    """
    approved = [item for item in wanted.items if isinstance(item, Approved)]
    items = list(resolved(member, [item for item in wanted.items if not isinstance(item, Approved)]))
    for item in items:
        if isinstance(item, Called) or (isinstance(item, Said) and item.role == "assistant"):
            raise InvalidRequest(item.where, HISTORY)
    said = [item for item in items if isinstance(item, Said)]
    told = [item.text for item in said if item.role != "user"]
    return RunInput(
        thread_id=conversation,
        thread_key=parse_id(wanted.conversation, "threadId") if is_new else "",
        run_id=response,
        message=_message(member, [item for item in said if item.role == "user"]),
        tool_answers=tuple(
            ToolAnswer(uuid.uuid4().hex, item.call_id, item.text) for item in items if isinstance(item, Answered)
        ),
        resume=tuple(Resume(_call_of(item), item.approved, reason=item.reason) for item in approved),
        client_tools=wanted.client_tools,
        must_answer=True,
        on_begun=partial(store_request, wanted),
        asked=CallerSettings(
            instructions="\n\n".join(filter(None, [wanted.instructions, *told])),
            options=wanted.options,
            tool_choice=wanted.tool_choice,
            response_format=wanted.response_format,
        ),
    )


def _message(member: Member, said: Sequence[Said]) -> TextMessage | None:
    """Return what the user says, in one message."""
    if not said:
        return None
    turns = new_messages(said, inline=partial(inline_file, member))
    files = tuple(file for message in turns.messages for file in turns.files.get(message.id, ()))
    text = check_text("\n\n".join(item.text for item in said if item.text), has_files=bool(files))
    return TextMessage(uuid.uuid4().hex, text, files)


def _call_of(item: Approved) -> str:
    found = parse_item_id(item.request)
    if found is None:
        raise InvalidRequest(item.where, "names no request for approval.")
    return found[2]


def conversation_items(conversation: Conversation) -> list[dict[str, Any]]:
    """Return the newest messages of a conversation that are shown, as items, oldest first."""
    writer = ItemWriter(conversation.pk, conversation.assistant.slug)
    messages = recent_messages(conversation=conversation)
    items: list[dict[str, Any]] = []
    for index, message in enumerate(messages):
        if message.role == "assistant":
            results = [one for one in messages[index + 1 :] if one.role == "tool"]
            answered = {one.tool_call_id for one in results}
            own = [one.tool_call_id for one in results if one.from_caller]
            pending = [*own, *(call.id for call in message.tool_calls if call.id not in answered)]
            items += writer.output([message, *(one for one in results if not one.from_caller)], pending=pending)
        elif message.role == "user" or message.from_caller:
            items += writer.input_item(message)
    return items

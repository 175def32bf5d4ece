"""OpenAI's Conversations API, as far as it fits: only responses begin a conversation and add to it."""

from __future__ import annotations

import time
import uuid
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase

from assistant.api.parsers import object_of
from assistant.contrib.openai_api.api.endpoint import endpoint
from assistant.contrib.openai_api.api.lists import page_of, query_of
from assistant.contrib.openai_api.api.shapes import error
from assistant.contrib.openai_api.services.request_fields import InvalidRequest
from assistant.contrib.openai_api.services.responses.in_conversation import (
    conversation_id,
    conversation_items,
    own_conversation,
)
from assistant.models import Conversation
from assistant.services.conversations.conversations import ConversationBusy, delete_conversation
from assistant.services.db.threads import in_database
from assistant.services.tenancy.authentication import Caller


async def _create(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Return the id of a new conversation. It is stored with its first response, which names the assistant."""
    body = object_of(request) if request.body.strip() else {}
    for name in body:
        if name not in ("items", "metadata"):
            raise InvalidRequest(name[:100], "there is no such parameter.", error_code="unknown_parameter")
        if body[name]:
            sentence = "is not taken: what is said is added by responses, and they have metadata."
            raise InvalidRequest(name, sentence, error_code="unsupported_parameter")
    return JsonResponse(_body(conversation_id(uuid.uuid4()), int(time.time())))


async def _retrieve(request: HttpRequest, caller: Caller, conversation: str) -> HttpResponseBase:
    row = await in_database(own_conversation, member=caller.member, name=conversation)
    return _no_such_conversation(conversation) if row is None else JsonResponse(_body_of(row, conversation))


async def _delete(request: HttpRequest, caller: Caller, conversation: str) -> HttpResponseBase:
    """Delete a conversation with its messages and responses."""
    row = await in_database(own_conversation, member=caller.member, name=conversation)
    try:
        if row is None or not await in_database(delete_conversation, member=caller.member, conversation_id=row.pk):
            return _no_such_conversation(conversation)
    except ConversationBusy:
        return error(409, "The conversation is being answered.", code="thread_busy")
    return JsonResponse({"id": conversation, "object": "conversation.deleted", "deleted": True})


async def _items(request: HttpRequest, caller: Caller, conversation: str) -> HttpResponseBase:
    """List the newest messages of a conversation that are shown, the latest first."""
    query = query_of(request, {"after", "include", "include[]", "limit", "order"})
    row = await in_database(own_conversation, member=caller.member, name=conversation)
    if row is None:
        return _no_such_conversation(conversation)
    found = await in_database(conversation_items, row)
    return JsonResponse(page_of(found, query))


def _body_of(row: Conversation, name: str) -> dict[str, Any]:
    return _body(name, int(row.created_at.timestamp()))


def _body(name: str, created_at: int) -> dict[str, Any]:
    return {"id": name, "object": "conversation", "created_at": created_at, "metadata": {}}


def _no_such_conversation(name: str) -> JsonResponse:
    sentence = f"There is no conversation with the id {name[:200]!r}. It begins with its first response."
    return error(404, sentence, code="not_found", param="conversation_id")


conversations = endpoint("conversations", {"POST": _create})
one_conversation = endpoint("conversations/<str:conversation>", {"GET": _retrieve, "DELETE": _delete})
items = endpoint("conversations/<str:conversation>/items", {"GET": _items})

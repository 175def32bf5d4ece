"""Requests for tools in the REST API: what can be asked for in a conversation, what was, and the answers."""

from __future__ import annotations

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.authentication import HttpRefusal, not_found
from assistant.api.base import idempotent, validated
from assistant.api.conversations import ConversationView
from assistant.api.fields import SAYING, Text
from assistant.api.openapi import POSITIVE_INTEGER, describe_parameter, operation
from assistant.api.serializers import ApiSerializer
from assistant.contrib.tool_requests.models import MAX_WISH, ToolRequest
from assistant.contrib.tool_requests.services.asking import (
    MAX_LISTED,
    MAX_OPEN,
    AskingConflict,
    AskingRefused,
    as_mapping,
    ask_for_tool,
    askable_in,
    question_of,
    requests_in,
    titles_of_requests,
    withdraw,
)
from assistant.models import Conversation
from assistant.services.text import INTEGERS

TAG = "tool requests"
GIVEN = {"tool": "find_orders", "wish": "To see what Ms Weber has ordered."}
ENTRY = {
    "id": 7,
    "tool": "find_orders",
    "title": "Find orders",
    "wish": "To see what Ms Weber has ordered.",
    "state": "granted",
    "answer": "Yes, from today on.",
    "answered_by": "amy",
    "at": "2026-11-21T09:30:00Z",
}
LISTED = {
    "question": "What has Ms Weber ordered?",
    "askable": [{"name": "find_orders", "title": "Find orders", "why": "Switched off: maintenance."}],
    "requests": [ENTRY],
}
describe_parameter("tool_request", "The request's id.", example=7, schema=POSITIVE_INTEGER)


class AskableOut(ApiSerializer):
    name = serializers.CharField()
    title = serializers.CharField()
    why = serializers.CharField(help_text="Why it is off, where people are told.")


class ToolRequestOut(ApiSerializer):
    id = serializers.IntegerField()
    tool = serializers.CharField(help_text="Empty: something that its member could not name.")
    title = serializers.CharField()
    wish = serializers.CharField()
    state = serializers.ChoiceField(choices=ToolRequest.State.values)
    answer = serializers.CharField()
    answered_by = serializers.CharField(source="answeredBy")
    at = serializers.DateTimeField(help_text="When it was answered, or asked for.")


class ToolRequestsOut(ApiSerializer):
    question = serializers.CharField(help_text="What goes along with a new request: the last question.")
    askable = AskableOut(many=True)
    requests = ToolRequestOut(many=True)


class ToolRequestIn(ApiSerializer):
    tool = Text(required=False, allow_blank=True, default="", max_length=64, help_text="One of `askable`.")
    wish = Text(
        required=False, allow_blank=True, default="", max_length=MAX_WISH, pattern=SAYING, help_text="What it is for."
    )


def _entry(row: ToolRequest) -> dict[str, Any]:
    return dict(ToolRequestOut(as_mapping(row, titles_of_requests(row.tenant_id, [row]))).data)


class MembersConversationView(ConversationView):
    """A view of a conversation of somebody who is no visitor of a widget."""

    def conversation(self, thread: uuid.UUID) -> Conversation:
        """Return a conversation of the caller. Raises `HttpRefusal` (404) for any other, and for visitors."""
        if self.member.is_end_user:
            raise not_found()
        return super().conversation(thread)


class ToolRequests(MembersConversationView):
    """The tools that can be asked for in a conversation, and what was asked for."""

    @operation(
        "List requests for tools",
        path=["thread"],
        responses={200: (ToolRequestsOut, LISTED)},
        tag=TAG,
        description=f"The newest {MAX_LISTED} of the conversation, and the tools that can be asked for in it: those "
        "that are off now and whose calls were refused here, or that are off with a reason. End users have none.",
    )
    def get(self, request: Request, thread: uuid.UUID) -> Response:
        conversation = self.conversation(thread)
        rows = list(requests_in(conversation)[:MAX_LISTED])
        titles = titles_of_requests(conversation.tenant_id, rows)
        found = {
            "question": question_of(conversation),
            "askable": askable_in(conversation),
            "requests": [as_mapping(row, titles) for row in rows],
        }
        return Response(ToolRequestsOut(found).data)

    @operation(
        "Ask for a tool",
        path=["thread"],
        body=ToolRequestIn,
        example=GIVEN,
        responses={201: (ToolRequestOut, ENTRY | {"state": "open", "answer": "", "answered_by": ""})},
        conflicts={"conflict": "It was asked for already, or too many requests wait."},
        tag=TAG,
        is_idempotent=True,
        description="Those who set the tenant's switches read it with the conversation's last question, and answer. "
        f"At most {MAX_OPEN} requests of a member wait.",
    )
    @idempotent
    def post(self, request: Request, thread: uuid.UUID) -> Response:
        conversation = self.conversation(thread)
        given = validated(ToolRequestIn, request.data)
        try:
            row = ask_for_tool(member=self.member, conversation=conversation, tool=given["tool"], wish=given["wish"])
        except AskingConflict as exc:
            raise HttpRefusal(409, "conflict", str(exc)) from exc
        except AskingRefused as exc:
            raise HttpRefusal(400, "invalid_input", str(exc)) from exc
        return Response(_entry(row), status=201)


class OneToolRequest(MembersConversationView):
    """One request for a tool."""

    @operation(
        "Withdraw a request for a tool",
        path=["thread", "tool_request"],
        responses={204: (None, None)},
        tag=TAG,
        description="Only one that has no answer yet.",
    )
    def delete(self, request: Request, thread: uuid.UUID, tool_request: int) -> Response:
        conversation = self.conversation(thread)
        if tool_request not in INTEGERS or not withdraw(
            member=self.member, conversation=conversation, request_id=tool_request
        ):
            raise not_found()
        return Response(status=204)

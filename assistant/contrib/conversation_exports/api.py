"""The export of a conversation over REST."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.base import validated_query
from assistant.api.conversations import ConversationView
from assistant.api.fields import OneOf
from assistant.api.openapi import operation
from assistant.api.serializers import ApiSerializer
from assistant.contrib.conversation_exports.export import as_json, as_markdown

JSON_DOCUMENT = {"type": "object", "additionalProperties": {}}
EXAMPLE = {
    "id": "0190e0c5-6b0e-7c3a-9d4e-0a1b2c3d4e5f",
    "title": "Return of an umbrella",
    "assistant": "support",
    "messages": [],
}


class ExportQuery(ApiSerializer):
    format = OneOf(choices=["json", "markdown"], required=False, default="json")


class Export(ConversationView):
    """A conversation as a document."""

    @operation(
        "Export a conversation",
        path=["thread"],
        query=ExportQuery,
        responses={
            (200, "application/json"): (JSON_DOCUMENT, EXAMPLE),
            (200, "text/markdown"): ({"type": "string"}, "# Return of an umbrella"),
        },
        tag="conversations",
        description="All of it, as a JSON document, or as Markdown (`text/markdown`).",
    )
    def get(self, request: Request, thread: uuid.UUID) -> HttpResponseBase:
        conversation = self.conversation(thread)
        if validated_query(ExportQuery, request)["format"] == "json":
            answer: HttpResponseBase = Response(as_json(member=self.member, conversation=conversation))
            answer["Content-Disposition"] = f'attachment; filename="{conversation.client_id}.json"'
            return answer
        text = as_markdown(member=self.member, conversation=conversation)
        answer = HttpResponse(text, content_type="text/markdown; charset=utf-8")
        answer["Content-Disposition"] = f'attachment; filename="{conversation.client_id}.md"'
        return answer

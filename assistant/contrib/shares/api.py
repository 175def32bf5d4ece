"""Links to a member's conversations, which other members of the tenant read on the chat's site."""

from __future__ import annotations

import uuid
from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.authentication import HttpRefusal, not_found
from assistant.api.base import idempotent
from assistant.api.conversations import ConversationView
from assistant.api.openapi import describe_parameter, operation
from assistant.api.serializers import ApiSerializer
from assistant.contrib.shares.links import SharingRefused, revoke_share, share_conversation, shares_of
from assistant.contrib.shares.models import ConversationShare

SHARE = {
    "id": "0d9f4f0c-9a55-4c0c-a9e8-8f3a3b1f6a52",
    "url": "https://assistant.example.com/t/acme/s/0d9f4f0c-9a55-4c0c-a9e8-8f3a3b1f6a52/",
    "created_at": "2026-11-21T09:30:00Z",
}
describe_parameter("share", "The link's id.", example=SHARE["id"], schema={"format": "uuid"})
REFUSED = "Sharing is off, nothing was said yet, or there are too many links."


class ShareOut(ApiSerializer):
    id = serializers.UUIDField()
    url = serializers.URLField(help_text="Members of the tenant who are signed in can read it.")
    created_at = serializers.DateTimeField()


class Shares(ConversationView):
    """The links to a conversation."""

    @operation(
        "List the links to a conversation",
        path=["thread"],
        responses={200: (ShareOut(many=True), [SHARE])},
        tag="conversations",
    )
    def get(self, request: Request, thread: uuid.UUID) -> Response:
        self.conversation(thread)
        links = shares_of(member=self.member, conversation_id=thread)
        return Response(ShareOut([self.entry(request, one) for one in links], many=True).data)

    @operation(
        "Share a conversation",
        path=["thread"],
        responses={201: (ShareOut, SHARE)},
        conflicts={"conflict": REFUSED},
        tag="conversations",
        is_idempotent=True,
        description="Makes a link to the conversation as it is shown now, and not to what comes later. Members of the "
        "tenant who are signed in can read it until it is revoked. Refused unless the tenant allows sharing.",
    )
    @idempotent
    def post(self, request: Request, thread: uuid.UUID) -> Response:
        try:
            made = share_conversation(member=self.member, conversation_id=thread)
        except SharingRefused as exc:
            raise HttpRefusal(409, "conflict", str(exc)) from exc
        if made is None:
            raise not_found()
        return Response(ShareOut(self.entry(request, made)).data, status=201)

    def entry(self, request: Request, share: ConversationShare) -> dict[str, Any]:
        address = reverse("assistant:shared", kwargs={"tenant": self.member.tenant.slug, "share": share.pk})
        return {"id": share.pk, "url": request.build_absolute_uri(address), "created_at": share.created_at}


class OneShare(ConversationView):
    """One link to a conversation."""

    @operation("Revoke a link", path=["thread", "share"], responses={204: (None, None)}, tag="conversations")
    def delete(self, request: Request, thread: uuid.UUID, share: uuid.UUID) -> Response:
        if not revoke_share(member=self.member, conversation_id=thread, share_id=share):
            raise not_found()
        return Response(status=204)

"""Issues tokens for a tenant's own end users, to the tenant's backend."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.authentication import HttpRefusal, not_found
from assistant.api.base import TenantView, idempotent, validated
from assistant.api.fields import JsonObject, Text, Whole
from assistant.api.openapi import operation
from assistant.api.serializers import ApiSerializer
from assistant.contrib.end_users.services.grants import visitor_name, widget_files
from assistant.contrib.end_users.services.tokens import (
    DEFAULT_SECONDS,
    MAX_SECONDS,
    MIN_SECONDS,
    has_origins,
    mint_token,
    read_token,
    save_end_user,
    sign_token,
)
from assistant.contrib.end_users.services.widget_brand import widget_brand
from assistant.models import Assistant, Membership
from assistant.services import composer_parts
from assistant.services.addresses import api_url
from assistant.services.assistants.configuration import find_assistant
from assistant.services.assistants.welcome import greetings_of, notices_of
from assistant.services.conversations.added_details import detail_scripts
from assistant.services.shown_notices import notice_scripts

MAX_CONTEXT = 8 * 1024  # bytes


class VisitorAssistantOut(ApiSerializer):
    """What end users get of an assistant: nothing that only its tenant's members read."""

    slug = serializers.SlugField()
    name = serializers.CharField()
    greetings = serializers.SerializerMethodField(
        help_text="What an empty conversation begins with: by language, and `default`."
    )
    notices = serializers.SerializerMethodField(help_text="The tenant's words for that an AI answers, by language.")

    def get_greetings(self, assistant: Assistant) -> dict[str, str]:
        return greetings_of(assistant)

    def get_notices(self, assistant: Assistant) -> dict[str, str]:
        return notices_of(assistant)


class EndUserContext(JsonObject):
    """Data on an end user for tools: a JSON object of at most `MAX_CONTEXT` bytes."""

    def to_internal_value(self, data: Any) -> dict[Any, Any]:
        if isinstance(data, dict) and len(json.dumps(data)) > MAX_CONTEXT:
            raise serializers.ValidationError(f"Ensure this object has no more than {MAX_CONTEXT} bytes as JSON.")
        return super().to_internal_value(data)


class TokenIn(ApiSerializer):
    user_id = Text(max_length=128, help_text="Your own id of the end user.")
    name = Text(max_length=200, required=False, default="", allow_blank=True, help_text="For people in the admin.")
    context = EndUserContext(  # type: ignore[assignment]  # the name is the API's
        required=False, default=dict, help_text="For tools; the model never sees it."
    )
    seconds = Whole(
        required=False,
        default=DEFAULT_SECONDS,
        min_value=MIN_SECONDS,
        max_value=MAX_SECONDS,
        help_text="Lifetime in seconds.",
    )


class FilesOut(ApiSerializer):
    url = serializers.CharField(help_text="The path of uploads.")
    accept = serializers.CharField(help_text="Endings of names, for a file dialog.")
    max_bytes = serializers.IntegerField(help_text="Of one file; 0: no limit.")
    most = serializers.IntegerField(help_text="Files of a message; 0: no limit.")
    sees_images = serializers.BooleanField(help_text="Whether the assistant's model sees images.")
    reads_pdfs = serializers.BooleanField(help_text="Whether it reads PDFs itself, and so those without text.")


class TokenOut(ApiSerializer):
    token = serializers.CharField(help_text="For the websocket, as the subprotocol `bearer.<token>`.")
    expires_at = serializers.DateTimeField()
    socket = serializers.CharField(help_text="The websocket's path.")
    visitor = serializers.CharField(
        help_text="An opaque name of the end user, by which the widget keeps what one of them wrote from another."
    )
    assistant = VisitorAssistantOut()
    brand = JsonObject(
        help_text="How the widget looks: name, greeting, the notice that an AI answers and its place, the logo's path, "
        "colours of both themes."
    )
    files = FilesOut(allow_null=True, help_text="What can be attached to messages; null: nothing.")
    notices = JsonObject(help_text="The scripts with which the widget shows notices, such as alarms, by their names.")
    composer_parts = serializers.ListField(
        child=JsonObject(), help_text="What optional apps add to the message box: scripts, and when they are of use."
    )
    details = JsonObject(help_text="The scripts with which it shows what optional apps add to answers, by their names.")


GIVEN = {"user_id": "customer-4711", "name": "Dora", "context": {"account": 4711, "plan": "gold"}, "seconds": 900}
FILLED = {"fill": "#8a3a8f", "fill_hover": "#74247a", "text": "#ffffff"}
MINTED = {
    "token": "eu_WzEsMSw3LDMsMTc5NTI1NDMwMF0.k3iYJ6sVvTg5cN0aQw",  # nosec B105
    "expires_at": "2026-11-21T09:45:00Z",
    "socket": "/ws/acme/support/",
    "visitor": "8f14e45fceea167a",
    "assistant": {"slug": "support", "name": "Acme Support", "greetings": {}, "notices": {}},
    "brand": {
        "name": "Acme Desk",
        "greeting": "What can we do for you?",
        "ai_notice": "",
        "ai_notice_place": "start",
        "logo": "/t/acme/brand/6f1c2a52-3a43-4a5c-9d0e-0c4f6f1d2b11/",
        "colours": {
            "light": {**FILLED, "accent": "#8a3a8f", "hover": "#762779", "wash": "#f0e7ec"},
            "dark": {**FILLED, "accent": "#d084d5", "hover": "#e69aea", "wash": "#2a2127"},
        },
    },
    "files": {
        "url": "/api/v1/tenants/acme/attachments/",
        "accept": ".png,.jpg,.pdf,.txt",
        "max_bytes": 20_971_520,
        "most": 10,
        "sees_images": True,
        "reads_pdfs": False,
    },
    "notices": {"alarms": "/static/assistant/timed/alarms.js"},
    "composer_parts": [],
    "details": {"receipts": "/static/assistant/receipts/receipts.js"},
}


class EndUserTokens(TenantView):
    """Tokens with which end users talk to one assistant."""

    def body_to_store(self, body: Any) -> Any:
        """Store what the token is made of, without its signature: the token itself is a secret."""
        return {**body, "token": read_token(body["token"])}

    def stored_to_body(self, stored: Any) -> Any:
        return {**stored, "token": sign_token(stored["token"])}

    @operation(
        "Mint a token for an end user",
        path=["assistant"],
        body=TokenIn,
        example=GIVEN,
        responses={201: (TokenOut, MINTED)},
        tag="end users",
        is_idempotent=True,
        description="For your backend: a token with which a page of yours talks to the assistant as this end user. "
        "Needs an API key with the scope `end_users`, and an origin that the tenant allows for the assistant.",
    )
    @idempotent
    def post(self, request: Request, assistant: str) -> Response:
        member = self.member
        if member.key_id is None:
            raise HttpRefusal(403, "forbidden", "Only an API key mints tokens.")
        found = find_assistant(tenant_id=member.tenant_id, slug=assistant)
        if found is None:
            raise not_found()
        if not has_origins(tenant_id=member.tenant_id, assistant_id=found.pk):
            raise HttpRefusal(
                403, "forbidden", "No page may show this assistant yet: add a widget origin in the admin."
            )
        given = validated(TokenIn, request.data)
        end_user = save_end_user(
            tenant_id=member.tenant_id, external_id=given["user_id"], name=given["name"], context=given["context"]
        )
        token, until = mint_token(end_user=end_user, assistant=found, key_id=member.key_id, seconds=given["seconds"])
        # The key is a staff member's, and what is shown is for a visitor.
        visitor = replace(member, role=Membership.Role.END_USER)
        body = {
            "token": token,
            "expires_at": until,
            "socket": api_url("websocket", tenant=member.tenant.slug, assistant=found.slug),
            "visitor": visitor_name(tenant_id=member.tenant_id, user_id=end_user.user_id),
            "assistant": found,
            "brand": widget_brand(tenant_id=member.tenant_id),
            "files": widget_files(member, found),
            "notices": notice_scripts(),
            "details": detail_scripts(found),
            "composer_parts": composer_parts.composer_parts(member=visitor, assistant_slug=found.slug),
        }
        return Response(TokenOut(body).data, status=201, headers={"Cache-Control": "no-store"})

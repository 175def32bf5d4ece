"""A member's conversations: list, create, rename, archive and delete them, their messages, and feedback."""

from __future__ import annotations

import uuid

from django.utils.translation import gettext
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.authentication import HttpRefusal, not_found
from assistant.api.base import AsyncTenantView, TenantView, idempotent, validated, validated_query
from assistant.api.serializers import (
    ConversationChange,
    ConversationIn,
    ConversationOut,
    ConversationPage,
    ConversationQuery,
    FeedbackIn,
    FeedbackOut,
    MessagePage,
    PageQuery,
    ShownIn,
)
from assistant.models import Conversation
from assistant.services.assistants.configuration import find_assistant
from assistant.services.conversations.conversations import (
    ConversationBusy,
    archive_conversation,
    create_conversation,
    delete_conversation,
    find_conversation,
    rename_conversation,
)
from assistant.services.conversations.feedback import give_feedback, withdraw_feedback
from assistant.services.conversations.pagination import InvalidCursor, conversation_page, message_page
from assistant.services.conversations.tool_switch import switch_tools
from assistant.services.runs.opening.busy_thread import BUSY
from assistant.services.runs.shown_path import show_path
from assistant.services.toolpolicy.named_tools import UnknownTools

ID_TAKEN = "This id is taken."


class ConversationView(TenantView):
    """A view of one conversation."""

    def conversation(self, thread: uuid.UUID) -> Conversation:
        """Return a conversation of the caller. Raises `HttpRefusal` (404) for any other."""
        found = find_conversation(member=self.member, conversation_id=thread)
        if found is None:
            raise not_found()
        return found


def invalid_cursor(exc: InvalidCursor) -> HttpRefusal:
    return HttpRefusal(400, "invalid_input", str(exc), {"cursor": [str(exc)]})


class Conversations(TenantView):
    """The member's conversations."""

    def get(self, request: Request) -> Response:
        query = validated_query(ConversationQuery, request)
        try:
            page = conversation_page(
                member=self.member,
                search=query["q"],
                assistant=query["assistant"],
                is_archived=query["archived"],
                cursor=query["cursor"],
                limit=query["limit"],
            )
        except InvalidCursor as exc:
            raise invalid_cursor(exc) from exc
        return Response(ConversationPage(page).data)

    @idempotent
    def post(self, request: Request) -> Response:
        given = validated(ConversationIn, request.data)
        assistant = find_assistant(tenant_id=self.member.tenant_id, slug=given["assistant"])
        if assistant is None:
            sentence = "There is no such assistant."
            raise HttpRefusal(400, "invalid_input", sentence, {"assistant": [sentence]})
        made = create_conversation(
            member=self.member,
            assistant=assistant,
            conversation_id=given.get("id") or uuid.uuid4(),
            title=given["title"],
        )
        if made is None:
            raise HttpRefusal(409, "conflict", ID_TAKEN)
        return Response(ConversationOut(made).data, status=201)


class OneConversation(ConversationView):
    """One conversation."""

    def get(self, request: Request, thread: uuid.UUID) -> Response:
        return Response(ConversationOut(self.conversation(thread)).data)

    def patch(self, request: Request, thread: uuid.UUID) -> Response:
        self.conversation(thread)
        given = validated(ConversationChange, request.data)
        if not given:
            raise ValidationError(["There is nothing to change: give a title, is_archived or tools_off."])
        if "tools_off" in given:
            self.switch_tools(thread, given["tools_off"])
        if "title" in given:
            self.rename(thread, given["title"])
        if "is_archived" in given:
            archive_conversation(member=self.member, conversation_id=thread, is_archived=given["is_archived"])
        return Response(ConversationOut(self.conversation(thread)).data)

    def switch_tools(self, thread: uuid.UUID, off: list[str]) -> None:
        try:
            switch_tools(member=self.member, conversation_id=thread, off=off)
        except UnknownTools as exc:
            # Not 400: the schema allows the name, and what tools there are is stored.
            raise HttpRefusal(409, "conflict", str(exc), {"tools_off": [str(exc)]}) from exc

    def rename(self, thread: uuid.UUID, title: str) -> None:
        try:
            rename_conversation(member=self.member, conversation_id=thread, title=title)
        except ValueError as exc:
            raise HttpRefusal(400, "invalid_input", str(exc), {"title": [str(exc)]}) from exc

    def delete(self, request: Request, thread: uuid.UUID) -> Response:
        try:
            is_deleted = delete_conversation(member=self.member, conversation_id=thread)
        except ConversationBusy:
            raise HttpRefusal(409, "thread_busy", gettext(BUSY)) from None
        if not is_deleted:
            raise not_found()
        return Response(status=204)


class Messages(ConversationView):
    """The messages of a conversation."""

    def get(self, request: Request, thread: uuid.UUID) -> Response:
        query = validated_query(PageQuery, request)
        try:
            page = message_page(
                member=self.member,
                conversation=self.conversation(thread),
                cursor=query["cursor"],
                limit=query["limit"],
            )
        except InvalidCursor as exc:
            raise invalid_cursor(exc) from exc
        return Response(MessagePage(page).data)


class Shown(AsyncTenantView):
    """The path of a conversation that is shown."""

    async def put(self, request: Request, thread: uuid.UUID) -> Response:
        given = validated(ShownIn, request.data)
        await show_path(member=self.member, conversation_id=thread, message_id=given["message_id"])
        return Response(status=204)


class MessageFeedback(TenantView):
    """The member's rating of an answer."""

    def put(self, request: Request, thread: uuid.UUID, message_id: str) -> Response:
        given = validated(FeedbackIn, request.data)
        kept = give_feedback(member=self.member, conversation_id=thread, message_id=message_id, **given)
        if kept is None:
            raise not_found()
        return Response(FeedbackOut(kept).data)

    def delete(self, request: Request, thread: uuid.UUID, message_id: str) -> Response:
        if not withdraw_feedback(member=self.member, conversation_id=thread, message_id=message_id):
            raise not_found()
        return Response(status=204)

"""Conversations (threads), their messages, links to them, and members' feedback on them."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from assistant.models.assistants import Assistant
from assistant.models.fields import list_field, sources_field
from assistant.models.tenants import Tenant
from assistant.toolkit.context import UserId

if TYPE_CHECKING:
    from assistant.models.runs import Run


class ToolsInTests(models.TextChoices):
    """What happens when a test of a prompt calls a tool that is not read-only."""

    STUB = "stub", _("Not run; the model reads that it worked")
    ASK = "ask", _("The tester is asked, and it runs")
    REPLAY = "replay", _("Not run; what was recorded is given back")


class ConversationQuerySet(models.QuerySet["Conversation"]):
    """Conversations are personal, so every query names the tenant and the user."""

    def listed(self) -> ConversationQuerySet:
        """Leave out tests of prompts and temporary conversations, which are in no list of chats."""
        return self.filter(test_tools="", is_temporary=False)

    def visible_to(self, *, tenant_id: int, user_id: UserId) -> ConversationQuerySet:
        """Return a member's own conversations, without those of stateless runs."""
        return self.filter(tenant_id=tenant_id, user_id=user_id, is_stateless=False)


class Conversation(models.Model):
    """One thread of one member with one assistant."""

    class TitleOrigin(models.TextChoices):
        FIRST_WORDS = "", _("The first question's words")
        ASKING = "asking", _("The first question's words, while the model is asked")
        MODEL = "model", _("The model")
        PERSON = "person", _("A person")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    thread_key = models.CharField(
        _("thread key"),
        max_length=200,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text=_("AG-UI's threadId, if its client uses another one than `id`."),
    )
    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="conversations")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("user"),
        on_delete=models.CASCADE,
        related_name="assistant_conversations",
    )
    assistant = models.ForeignKey(
        Assistant, verbose_name=_("assistant"), on_delete=models.CASCADE, related_name="conversations"
    )
    title = models.CharField(_("title"), max_length=200, blank=True)
    title_origin = models.CharField(
        _("title origin"),
        max_length=8,
        choices=TitleOrigin.choices,
        default=TitleOrigin.FIRST_WORDS,
        db_default=TitleOrigin.FIRST_WORDS,
        blank=True,
        editable=False,
    )
    summary = models.TextField(
        _("summary"), blank=True, help_text=_("Sent to the model in place of the older messages.")
    )
    summary_sources = sources_field(verbose_name=_("summary sources"), editable=False)
    summarised_to = models.PositiveIntegerField(_("summarised to"), default=0, editable=False)
    is_stateless = models.BooleanField(
        _("is stateless"),
        default=False,
        editable=False,
        help_text=_("Holds a single run of a caller that keeps its own history; it cannot be continued."),
    )
    test_tools = models.CharField(
        _("test tools"),
        max_length=6,
        choices=ToolsInTests.choices,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text=_("How tools that change something are answered, if it is a test of a prompt. Empty: it is none."),
    )
    is_temporary = models.BooleanField(
        _("is temporary"),
        default=False,
        db_default=False,
        editable=False,
        help_text=_("It is in no list, and deleted soon after its last answer."),
    )
    archived_at = models.DateTimeField(_("archived at"), null=True, blank=True, editable=False)
    pinned_at = models.DateTimeField(_("pinned at"), null=True, blank=True, editable=False)
    run_count = models.PositiveIntegerField(_("run count"), default=0, editable=False)
    message_count = models.PositiveIntegerField(_("message count"), default=0, editable=False)
    branches = list_field(
        verbose_name=_("branches"),
        editable=False,
        help_text=_("Pairs: the position of a branch's first message, and that after the message it follows."),
    )
    choices = list_field(
        verbose_name=_("choices"),
        editable=False,
        help_text=_("Pairs: the position after a message, and that of the one of its followers to show."),
    )
    tools_off = list_field(
        verbose_name=_("tools off"),
        editable=False,
        help_text=_("Names of tools that are off in this conversation; * stands for all."),
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    objects = ConversationQuerySet.as_manager()

    class Meta:
        verbose_name = _("conversation")
        verbose_name_plural = _("conversations")
        ordering = ["-updated_at"]
        indexes = [
            models.Index(fields=["tenant", "user", "-updated_at"]),
            # For the operators' list of all tenants' conversations.
            models.Index(fields=["-updated_at"], name="conversations_by_age"),
            models.Index(fields=["updated_at"], condition=Q(is_temporary=True), name="temporary_conversations"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "assistant", "user", "thread_key"],
                condition=~Q(thread_key=""),
                name="one_conversation_per_thread_key",
            )
        ]

    def __str__(self) -> str:
        return self.title or str(self.id)

    @property
    def thread(self) -> str:
        """AG-UI's threadId, as its client wrote it."""
        return self.thread_key or str(self.id)

    @property
    def client_id(self) -> uuid.UUID:
        """The id that its member knows: the one that they chose, also where another member has a row with it."""
        return client_id_of(self.id, self.thread_key)


def client_id_of(row_id: uuid.UUID, thread: str) -> uuid.UUID:
    """Return the id by which a member knows a conversation: their threadId if it is a UUID, else that of the row."""
    try:
        chosen = uuid.UUID(thread)
    except ValueError:
        return row_id
    return chosen if str(chosen) == thread else row_id


class Message(models.Model):
    """One entry of a conversation; `position` gives the order, and `Conversation.branches` what it follows."""

    class Role(models.TextChoices):
        USER = "user", _("User")
        ASSISTANT = "assistant", _("Assistant")
        TOOL = "tool", _("Tool")

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="messages")
    run: models.ForeignKey[Run | None, Run | None] = models.ForeignKey(
        "assistant.Run", null=True, on_delete=models.SET_NULL, related_name="messages"
    )
    position = models.PositiveIntegerField(_("position"))
    message_id = models.CharField(_("message id"), max_length=128)
    role = models.CharField(_("role"), max_length=10, choices=Role.choices)
    content = models.TextField(_("content"), blank=True)
    reasoning = models.TextField(_("reasoning"), blank=True)
    tool_calls = models.JSONField(
        _("tool calls"), default=list, blank=True, help_text=_("id, name and arguments (JSON text) of each call.")
    )
    tool_call_id = models.CharField(_("tool call id"), max_length=128, blank=True)
    is_partial = models.BooleanField(
        _("cut off"), default=False, help_text=_("Cut off by a cancel, an error or a crash.")
    )
    is_superseded = models.BooleanField(
        default=False,
        db_default=False,
        help_text=_(
            "Of a step that was cut when its process died, and repeated in later messages. No model is sent it."
        ),
    )
    cut_reason = models.CharField(
        max_length=20,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text=_("Why a partial answer was cut off: length, content_filter or invalid_form. Empty: see its run."),
    )
    sources = sources_field(help_text=_("Where untrusted text in it came from."))
    from_caller = models.BooleanField(
        default=False, db_default=False, help_text=_("The result of a tool that the caller ran itself.")
    )
    provider_state = models.TextField(
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text=_("What the provider gave with the message for itself, as JSON or encrypted."),
    )
    attachments = list_field(editable=False, help_text=_("id, name, mediaType and size of each file sent with it."))
    mark_digest = models.CharField(  # noqa: DJ001 - databases use the partial index for any list of digests then
        max_length=32,
        null=True,
        editable=False,
        help_text=_("What a marked message is found by if a caller that keeps its own history sends it back."),
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        ordering = ["conversation", "position"]
        constraints = [
            models.UniqueConstraint(fields=["conversation", "position"], name="message_position"),
            models.UniqueConstraint(fields=["conversation", "message_id"], name="message_id_per_conversation"),
        ]
        indexes = [
            models.Index(fields=["mark_digest"], condition=models.Q(mark_digest__isnull=False), name="marked_messages")
        ]

    def __str__(self) -> str:
        return f"{self.get_role_display()}: {self.content[:60]}"


class Feedback(models.Model):
    """A member's rating of one answer."""

    class Rating(models.IntegerChoices):
        DOWN = -1, _("Not helpful")
        UP = 1, _("Helpful")

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="feedback")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="feedback")
    rating = models.SmallIntegerField(_("rating"), choices=Rating.choices)
    comment = models.TextField(_("comment"), blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("feedback")
        ordering = ["-created_at"]
        verbose_name_plural = _("feedback")
        constraints = [models.UniqueConstraint(fields=["user", "message"], name="one_feedback_per_message")]
        indexes = [models.Index(fields=["-created_at"], name="feedback_by_age")]

    def __str__(self) -> str:
        return self.get_rating_display()

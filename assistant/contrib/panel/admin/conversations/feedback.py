"""A read-only page of members' ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Count, Q
from django.http import HttpRequest
from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.filters import TENANT
from assistant.admin.base.links import assistant_label, link, user_column, username
from assistant.admin.base.tenant_scope import ReadOnlyAdmin
from assistant.contrib.panel.admin.base.chat_reading import HIDDEN, ReadsChats, may_show
from assistant.contrib.panel.admin.conversations.texts_in_looks import texts
from assistant.contrib.panel.admin.lists.cells import state
from assistant.contrib.panel.admin.lists.list_parts import ListParts, Total
from assistant.models import Feedback


def _percent(share: float) -> str:
    return f"{number_format(share, 0)} %"


@admin.register(Feedback)
class FeedbackAdmin(ReadsChats, ReadOnlyAdmin, ListParts):
    """Members' ratings of answers."""

    permission = "read_chats"
    conversation_path = "message__conversation"
    text_fields = ("message__content",)
    list_display = ("created_at", "verdict", "tenant", "member", "assistant", "answer", "comment")
    list_filter = ("rating", TENANT, "created_at")
    search_fields = ("comment", "message__content", username("user"))
    list_select_related = (
        "tenant",
        "user",
        "message__conversation__tenant",
        "message__conversation__assistant__tenant",
    )
    list_totals: ClassVar[Mapping[str, Total]] = {
        "verdict": Total(_("Helpful"), Count("pk", filter=Q(rating__gt=0)) * 100.0 / Count("pk"), _percent)
    }
    exclude = ("message", "user")
    readonly_fields = ("member", "answer")
    member = user_column("user")

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Return the list with the answers where these may be shown."""
        found = super().get_changelist_instance(request)
        for row in found.result_list:
            row.is_answer_hidden = not may_show(request, row.message.conversation)
        return found

    @admin.display(description=_("rating"), ordering="rating")
    def verdict(self, feedback: Feedback) -> SafeString:
        return state("good" if feedback.rating > 0 else "bad", feedback.get_rating_display())

    @admin.display(description=_("assistant"))
    def assistant(self, feedback: Feedback) -> str:
        return assistant_label(feedback.message.conversation.assistant)

    def look_at(self, request: HttpRequest, row: Feedback) -> Sequence[tuple[str, str]]:
        """Return the question and the rated answer, where these may be shown, and the comment."""
        message = row.message
        before = message.conversation.messages.filter(role="user", position__lt=message.position)
        question = before.order_by("-position").values_list("content", flat=True).first() or ""
        found = ((gettext("Question"), question), (gettext("Answer"), message.content))
        return [*texts(request, self, row, *found), *([(gettext("Comment"), row.comment)] if row.comment else [])]

    @admin.display(description=_("answer"))
    def answer(self, feedback: Any) -> str:
        if getattr(feedback, "is_answer_hidden", False):
            return link(feedback.message, HIDDEN)
        return link(feedback.message, feedback.message.content[:100] or "—")

"""Restricts reading other people's conversations: asks for a reason where one is required, and records it."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.translation import gettext, gettext_lazy

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.tenant_scope import TenantScopedAdmin
from assistant.admin.base.visible_tenants import restricts_reading
from assistant.models import Conversation
from assistant.models.tenants import ChatReading
from assistant.services.conversations.chat_reading import (
    MAX_REASON,
    READING_SECONDS,
    access_to,
    readable,
    record_reading,
)

# The key in the session of the conversations that were read within the hour: the time, by id.
READ_CHATS = "read_chats"
MAX_REMEMBERED = 200
HIDDEN = gettext_lazy("hidden: reading is restricted")


class ReasonForm(forms.Form):
    """Why somebody reads another person's conversation."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=MAX_REASON,
        widget=forms.TextInput(attrs={"size": 60, "autofocus": True}),
    )
    next = forms.CharField(required=False, widget=forms.HiddenInput)


def may_show(request: HttpRequest, conversation: Conversation | None) -> bool:
    """Whether texts of a conversation may be shown on a page about something else, such as a list."""
    if conversation is None:
        return True
    access = access_to(conversation=conversation, reader=request.user)
    return access in {"own", "open"} or (access == "reason" and _was_read(request, conversation))


def shown_in_lists(request: HttpRequest, path: str) -> Q:
    """Return the condition of rows whose texts a list may show; `path` as for `readable`."""
    recent = [key.split("/") for key, at in _read(request).items() if time.time() - at < READING_SECONDS]
    read = [pk for pk, setting in recent if setting == ChatReading.REASON]
    prefix = f"{path}__" if path else ""
    asked = Q(**{f"{prefix}pk__in": read, f"{prefix}tenant__chat_reading": ChatReading.REASON})
    kept = Q(**{f"{prefix}is_temporary": False})
    return (readable(reader_id=request.user.pk, path=path) | asked) & kept


def gate(request: HttpRequest, conversation: Conversation) -> HttpResponse | None:
    """Return the page to show in place of a conversation's texts; None if they may be shown, which is recorded."""
    access = access_to(conversation=conversation, reader=request.user)
    if access == "off":
        context = _context(request, conversation, gettext("This conversation is not shown"))
        return TemplateResponse(request, "admin/assistant/conversation/not_shown.html", context, status=403)
    if access == "own" or _was_read(request, conversation):
        return None
    if access == "reason":
        query = urlencode({"next": request.get_full_path()})
        return HttpResponseRedirect(f"{reverse('admin:read_conversation', args=[conversation.pk])}?{query}")
    _record(request, conversation, "")
    return None


def ask_reason(request: HttpRequest, conversation: Conversation) -> HttpResponse:
    """Show and process the form for the reason."""
    if access_to(conversation=conversation, reader=request.user) != "reason":
        return HttpResponseRedirect(_page_of(conversation))
    form = ReasonForm(request.POST if request.method == "POST" else None, initial={"next": request.GET.get("next", "")})
    if form.is_valid():
        _record(request, conversation, form.cleaned_data["reason"])
        target = form.cleaned_data["next"]
        is_ours = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
        return HttpResponseRedirect(target if is_ours else _page_of(conversation))
    context = _context(request, conversation, gettext("Why do you read this conversation?")) | {"form": form}
    return TemplateResponse(request, "admin/assistant/conversation/reason.html", context)


def _context(request: HttpRequest, conversation: Conversation, title: str) -> dict[str, Any]:
    return admin.site.each_context(request) | {"title": title, "conversation": conversation}


def _page_of(conversation: Conversation) -> str:
    return reverse("admin:assistant_conversation_change", args=[conversation.pk])


def _was_read(request: HttpRequest, conversation: Conversation) -> bool:
    return time.time() - _read(request).get(_key(conversation), 0) < READING_SECONDS


def _read(request: HttpRequest) -> dict[str, float]:
    session = getattr(request, "session", None)
    found: dict[str, float] = {} if session is None else session.get(READ_CHATS, {})
    return found


def _key(conversation: Conversation) -> str:
    # A reason counts only for the setting under which it was given: after a change of the setting, the reason is asked
    # for again.
    return f"{conversation.pk}/{conversation.tenant.chat_reading}"


def _record(request: HttpRequest, conversation: Conversation, reason: str) -> None:
    record_reading(reader=request.user, conversation=conversation, reason=reason)
    read = {key: at for key, at in _read(request).items() if time.time() - at < READING_SECONDS}
    newest = sorted(read.items(), key=lambda item: item[1])[-MAX_REMEMBERED + 1 :]
    request.session[READ_CHATS] = {**dict(newest), _key(conversation): time.time()}


class ReadsChats(TenantScopedAdmin):
    """The base of pages with texts of conversations, which other people's tenants may restrict.

    `conversation_path` is the lookup from a row to its conversation; "" for conversations. `text_fields` are those of
    `search_fields` that are texts: they are searched only where these may be shown, or a search would reveal them.
    """

    conversation_path = ""
    text_fields: Collection[str] = ()

    def conversation_of(self, row: Any) -> Conversation | None:
        """Return the conversation of a row; None if it has none."""
        for step in self.conversation_path.split("__") if self.conversation_path else ():
            row = None if row is None else getattr(row, step)
        return row if isinstance(row, Conversation) else None

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> Any:
        row = self.get_object(request, unquote(object_id))
        if row is None or request.method not in ("GET", "HEAD") or not self.has_view_permission(request, row):
            return super().change_view(request, object_id, form_url, extra_context)
        return self.refused(request, row) or self.show(request, row, extra_context or {})

    def show(self, request: HttpRequest, row: Any, extra_context: dict[str, Any]) -> Any:
        """Return the page of a row that may be read."""
        return super().change_view(request, str(row.pk), "", extra_context)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        row = self.get_object(request, unquote(object_id))
        refused = None if row is None else self.refused(request, row)
        return refused or super().history_view(request, object_id, extra_context)

    def refused(self, request: HttpRequest, row: Any) -> HttpResponse | None:
        """Return the page to show in place of a row's texts; None if they may be shown, which is recorded."""
        conversation = self.conversation_of(row)
        return None if conversation is None else gate(request, conversation)

    def get_search_fields(self, request: HttpRequest) -> Any:
        fields = super().get_search_fields(request)
        return [name for name in fields if name not in self.text_fields] if _hides_texts(request) else fields

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[Any], search_term: str) -> tuple[Any, bool]:
        """Search texts of the conversations that may be shown, and of the others the rest."""
        if not restricts_reading(request):
            return self.search_texts(request, queryset, search_term)
        open_rows = queryset.filter(readable(reader_id=request.user.pk, path=self.conversation_path))
        in_texts, _ = self.search_texts(request, open_rows, search_term)
        with _without_texts(request):
            elsewhere, _ = super().get_search_results(request, queryset, search_term)
        chosen = Q(pk__in=in_texts.order_by().values("pk")) | Q(pk__in=elsewhere.order_by().values("pk"))
        return queryset.filter(chosen), False

    def search_texts(self, request: HttpRequest, queryset: QuerySet[Any], search_term: str) -> tuple[Any, bool]:
        """Search all fields of rows whose texts may be shown."""
        return super().get_search_results(request, queryset, search_term)


def _hides_texts(request: HttpRequest) -> bool:
    return getattr(request, "_hides_texts", False)


@contextmanager
def _without_texts(request: HttpRequest) -> Iterator[None]:
    request._hides_texts = True  # type: ignore[attr-defined]
    try:
        yield
    finally:
        request._hides_texts = False  # type: ignore[attr-defined]

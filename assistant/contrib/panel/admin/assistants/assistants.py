"""The assistants' pages, with links to their prompt's editor and to what else is about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Count, Q
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.admin.assistants import AssistantAdmin, SwitchInline
from assistant.admin.base.own_addresses import reverse
from assistant.contrib.panel.admin.assistants import assistant_pages, assistant_tabs
from assistant.contrib.panel.admin.assistants.model_pages import ModelPages
from assistant.contrib.panel.admin.assistants.welcome_fields import WelcomeForm, welcome_fields
from assistant.contrib.panel.admin.base.added_links import added_links
from assistant.contrib.panel.admin.base.replacing import replace
from assistant.contrib.panel.admin.lists.list_parts import ListParts, Total
from assistant.contrib.panel.admin.lists.states import active_or_off
from assistant.models import Assistant

# The groups of the settings, each with the titles of the parts of the plain page that it holds.
_GROUPS: dict[str | Promise, tuple[str | Promise, ...]] = {
    _("Answers"): (_("Model"), _("Additions")),
    _("In the chat"): (_("Welcome"),),
    _("Limits and programs"): (_("Limits of one run"), _("Clients"), _("Advanced")),
}
_CLOSED = (_("In the chat"), _("Limits and programs"))


class AssistantList(ChangeList):
    """The list of assistants, whose names lead to their pages."""

    def url_for_result(self, result: Any) -> str:
        return reverse("admin:prompt_editor", args=[result.pk])


class ClosedSwitches(SwitchInline):
    """The assistant's own switches, closed: the tab of its tools shows what they come to."""

    classes = ("collapse",)


@replace(Assistant)
class AssistantPages(ModelPages, AssistantAdmin, ListParts):
    """A tenant's assistants."""

    form = WelcomeForm
    change_form_template = "admin/assistant/assistant/change_form.html"
    list_display = ("name", "tenant", "answers_with", "prompt", "standing", "updated_at")
    more_columns = ("slug", "created_at")
    list_totals: ClassVar[Mapping[str, Total]] = {"standing": Total(_("On"), Count("pk", filter=Q(is_active=True)))}
    readonly_fields = (*AssistantAdmin.readonly_fields, "pages")
    # Its prompt versions have a tab.
    inlines = (ClosedSwitches,)  # type: ignore[assignment]  # fewer than in the plain page

    def get_urls(self) -> list[Any]:
        return [*assistant_pages.urls(), *super().get_urls()]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return AssistantList

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the parts of the plain page in four groups, of which the first two are open."""
        parts = [part for part in super().get_fieldsets(request, obj) if part[1]["fields"] != ("published_prompt",)]
        groups: dict[str | Promise, list[Any]] = {title: [] for title in (None, *_GROUPS)}  # type: ignore[misc]
        for title, options in parts:
            group = next((name for name, titles in _GROUPS.items() if title in titles), None)
            groups[group].extend(options["fields"])  # type: ignore[index]
        texts = groups[_("In the chat")]
        texts.remove("translations")
        texts.extend(welcome_fields())
        if obj is not None:
            groups[None].append("pages")  # type: ignore[index]
        return [
            (title, {"fields": tuple(fields), **({"classes": ("collapse",)} if title in _CLOSED else {})})
            for title, fields in groups.items()
            if fields
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> Any:
        """Show Django's form as one of the tabs."""
        assistant = self.get_object(request, object_id)
        frame = {} if assistant is None else assistant_pages.frame_of(request, assistant, assistant_tabs.SETTINGS)
        return super().change_view(request, object_id, form_url, {**frame, **(extra_context or {})})

    @admin.display(description=_("state"), ordering="is_active")
    def standing(self, assistant: Assistant) -> SafeString:
        return active_or_off(assistant.is_active)

    @admin.display(description=_("prompt"))
    def prompt(self, assistant: Assistant) -> SafeString:
        return format_html(
            '<a href="{}">{}</a>', reverse("admin:prompt_editor", args=[assistant.pk]), gettext("Editor")
        )

    @admin.display(description=_("see also"))
    def pages(self, assistant: Assistant) -> SafeString | str:
        if not assistant.pk:
            return "—"
        board = reverse("admin:switchboard_of_tenant", args=[assistant.tenant.slug])
        links = [
            format_html('<a href="{}">{}</a>', board, gettext("Switchboard")),
            *added_links("assistant", assistant),
        ]
        return format_html_join(" · ", "{}", ((one,) for one in links))

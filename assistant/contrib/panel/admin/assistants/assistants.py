"""The assistants' pages, with links to their prompt's editor and to what else is about them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.admin.assistants import AssistantAdmin
from assistant.admin.base.links import link_to_list
from assistant.contrib.panel.admin.assistants.model_pages import ModelPages
from assistant.contrib.panel.admin.base.added_links import added_links
from assistant.contrib.panel.admin.base.replacing import replace
from assistant.models import Assistant, Conversation, PromptVersion


@replace(Assistant)
class AssistantPages(ModelPages, AssistantAdmin):
    """A tenant's assistants."""

    change_form_template = "admin/assistant/assistant/change_form.html"
    list_display = ("name", "slug", "tenant", "answers_with", "prompt", "is_active", "updated_at")
    readonly_fields = (*AssistantAdmin.readonly_fields, "pages")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        (title, options), *rest = super().get_fieldsets(request, obj)
        *names, shown = options["fields"] if obj is not None else (*options["fields"], "")
        return [(title, {**options, "fields": tuple(name for name in (*names, "pages", shown) if name)}), *rest]

    @admin.display(description=_("prompt"))
    def prompt(self, assistant: Assistant) -> SafeString:
        return format_html(
            '<a href="{}">{}</a>', reverse("admin:prompt_editor", args=[assistant.pk]), gettext("Editor")
        )

    @admin.display(description=_("published prompt"))
    def published_prompt(self, assistant: Assistant) -> SafeString | str:
        shown = super().published_prompt(assistant)
        if not assistant.pk:
            return shown
        editor = reverse("admin:prompt_editor", args=[assistant.pk])
        is_published = assistant.prompt_versions.filter(status=PromptVersion.Status.PUBLISHED).exists()
        if not is_published:
            return format_html('{} <a href="{}">{}</a>', shown, editor, gettext("Write it in the editor"))
        return format_html('{} · <a href="{}">{}</a>', shown, editor, gettext("Open the editor"))

    @admin.display(description=_("see also"))
    def pages(self, assistant: Assistant) -> SafeString | str:
        if not assistant.pk:
            return "—"
        board = reverse("admin:switchboard_of_tenant", args=[assistant.tenant.slug])
        links = [
            format_html('<a href="{}">{}</a>', board, gettext("Switchboard")),
            link_to_list(Conversation, gettext("Conversations"), assistant__id__exact=assistant.pk),
            *added_links("assistant", assistant),
        ]
        return format_html_join(" · ", "{}", ((one,) for one in links))

"""The prompt versions' pages, with the editor and the comparison."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy

from assistant.admin.base.own_addresses import reverse
from assistant.admin.prompts import PromptVersionAdmin
from assistant.contrib.panel.admin.assistants.prompt_compare import compare_view
from assistant.contrib.panel.admin.assistants.prompt_editor import editor_url, editor_view
from assistant.contrib.panel.admin.base.replacing import replace
from assistant.contrib.panel.services.text_difference import difference_of
from assistant.core.values.history_window import estimate_tokens
from assistant.models import PromptVersion
from assistant.services.assistants.prompts import text_to_edit


@replace(PromptVersion)
class PromptPages(PromptVersionAdmin):
    """The versions of assistants' system prompts."""

    change_form_template = "admin/assistant/promptversion/change_form.html"
    publish_template = "admin/assistant/promptversion/ask.html"
    list_display = (*PromptVersionAdmin.list_display, "editor")

    @admin.display(description=gettext_lazy("editor"))
    def editor(self, row: PromptVersion) -> SafeString:
        url = reverse("admin:prompt_editor", args=[row.assistant_id])
        return format_html('<a href="{}?version={}">{}</a>', url, row.number, gettext("Open"))

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        return self._published(request, obj) or super().response_add(request, obj, post_url_continue)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return self._published(request, obj) or super().response_change(request, obj)

    def _published(self, request: HttpRequest, version: PromptVersion) -> HttpResponse | None:
        """Go on to the page that asks whether to publish what was just saved, if the button says so."""
        if "_publish" not in request.POST or not self.has_add_permission(request):
            return None
        return HttpResponseRedirect(reverse("admin:assistant_promptversion_publish", args=[version.pk]))

    def get_urls(self) -> list[Any]:
        wrap = self.admin_site.admin_view
        publish = wrap(self.publish_view)
        return [
            path("editor/<int:assistant>/", wrap(editor_view), name="prompt_editor"),
            path("editor/<int:assistant>/compare/", wrap(compare_view), name="prompt_compare"),
            path("<path:object_id>/publish/", publish, name="assistant_promptversion_publish"),
            *super().get_urls(),
        ]

    def publish_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show what differs from what is published, and ask; a POST publishes what was shown."""
        version = self.row_or_404(request, object_id, self.has_add_permission)
        if request.method != "POST" or not self.publish_version(request, version):
            return self.ask(request, [version])
        return HttpResponseRedirect(editor_url(version.assistant))

    def shown(self, version: PromptVersion, published: PromptVersion | None) -> dict[str, Any]:
        """Also show what differs, line by line, and the prompt's length."""
        text = text_to_edit(version)
        return {
            **super().shown(version, published),
            "tokens": estimate_tokens(text),
            "difference": None if published is None else difference_of(text_to_edit(published), text),
        }

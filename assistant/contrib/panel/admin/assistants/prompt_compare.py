"""The page with two versions of a prompt side by side."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from assistant.contrib.panel.admin.assistants.prompt_editor import find_assistant
from assistant.contrib.panel.services.text_difference import difference_of
from assistant.models import Assistant, PromptVersion
from assistant.services.assistants.prompts import text_to_edit

# Versions that the fields offer; others are named in the address.
MAX_VERSIONS = 200


def compare_view(request: HttpRequest, assistant: int) -> HttpResponse:
    """Show what differs from the version `old` to `new`; by default from the published one to the newest."""
    found = find_assistant(request, assistant)
    versions = found.prompt_versions.order_by("-number")
    new = _version(found, request.GET.get("new", "")) or versions.first()
    old = _version(found, request.GET.get("old", "")) or _before(found, new)
    difference = None if old is None or new is None else difference_of(text_to_edit(old), text_to_edit(new))
    context = {
        **admin.site.each_context(request),
        "title": _("Versions of the prompt of %(assistant)s") % {"assistant": found.name},
        "assistant": found,
        "versions": versions.defer("text")[:MAX_VERSIONS],
        "old": old,
        "new": new,
        "difference": difference,
    }
    return TemplateResponse(request, "admin/assistant/promptversion/compare.html", context)


def _version(assistant: Assistant, number: str) -> PromptVersion | None:
    is_number = number.isascii() and number.isdigit() and len(number) < 10
    return assistant.prompt_versions.filter(number=int(number)).first() if is_number else None


def _before(assistant: Assistant, new: PromptVersion | None) -> PromptVersion | None:
    """Return what a version is compared with: the published one, or the one before that."""
    if new is None:
        return None
    published = assistant.prompt_versions.filter(status=PromptVersion.Status.PUBLISHED).exclude(pk=new.pk).first()
    return published or assistant.prompt_versions.filter(number__lt=new.number).order_by("-number").first() or new

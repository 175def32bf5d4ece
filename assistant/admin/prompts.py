"""The prompt versions' pages: drafts can be edited and published; published versions cannot be changed."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from assistant.admin.base.filters import AssistantFilter, TenantFilter
from assistant.admin.base.links import assistant_column, assistant_label, user_column
from assistant.admin.base.tenant_scope import TenantForm, TenantScopedAdmin
from assistant.models import PromptVersion
from assistant.services.assistants import prompts
from assistant.services.assistants.prompt_values import UnknownVariables, check_variables
from assistant.toolkit.text import clean_text

NOT_AS_SHOWN = gettext_noop("The prompt, or what is published, has changed since it was shown: look at it again.")


def cleaned_prompt(text: str, *, tenant_id: int) -> str:
    """Return a prompt that was typed, with plain line ends. Raises `ValidationError` for unknown variables."""
    text = clean_text(text.replace("\r\n", "\n").replace("\r", "\n"))
    try:
        check_variables(text, tenant_id=tenant_id)
    except UnknownVariables as exc:
        raise forms.ValidationError(problems_of(exc)) from None
    return text


def problems_of(exc: UnknownVariables) -> list[str]:
    """Return a sentence for each unknown variable, and how two braces are written as text."""
    sentences = [
        gettext("There is no variable {{ %(name)s }}.") % {"name": name}
        if name
        else gettext("Two opening braces begin no variable here.")
        for name in exc.names
    ]
    return [*sentences, gettext("To write two braces as text, put a backslash before them: \\{{")]


def shown_state(text: str, published: PromptVersion | None) -> str:
    """Return a digest of what is shown before a text is published: the text, and the version whose place it takes."""
    shown = f"{published.pk if published else ''}\0{text}"
    return sha256(shown.encode(errors="surrogatepass")).hexdigest()[:16]


class PromptForm(TenantForm):
    """The form of a draft; its assistant cannot be changed after the first save."""

    class Meta:
        model = PromptVersion
        fields = ("assistant", "text", "label", "note")
        widgets = {"text": forms.Textarea(attrs={"rows": 24, "cols": 100})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk and "assistant" in self.fields:
            self.fields["assistant"].disabled = True
        if self.instance.pk:
            self.initial["text"] = prompts.text_to_edit(self.instance)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        assistant = cleaned.get("assistant") or (self.instance.assistant if self.instance.pk else None)
        if "text" in cleaned and assistant is not None:
            try:
                cleaned["text"] = cleaned_prompt(cleaned["text"], tenant_id=assistant.tenant_id)
            except forms.ValidationError as exc:
                self.add_error("text", exc)
        return cleaned


class PromptVersionAdmin(TenantScopedAdmin):
    """The versions of assistants' system prompts."""

    permission = "prompts"
    form = PromptForm
    tenant_path = "assistant__tenant"
    list_display: tuple[Any, ...] = (
        "version", "label", assistant_column, "tenant", "status", "note", "author", "created_at", "published_at",
    )  # fmt: skip
    list_filter = ("status", ("assistant__tenant", TenantFilter), AssistantFilter)
    search_fields = ("text", "note", "label", "assistant__name", "assistant__slug")
    list_select_related = ("assistant", "assistant__tenant", "created_by")
    ordering = ("assistant", "-number")
    fields = ("assistant", "number", "status", "text", "label", "note", "author", "created_at", "published_at")
    readonly_fields = ("number", "status", "author", "created_at", "published_at")
    actions = ("publish",)
    publish_template = "admin/assistant/promptversion/publish.html"
    audited_by_services = frozenset({"add", "change"})
    author = user_column("created_by")

    @admin.display(description=gettext_lazy("version"), ordering="number")
    def version(self, row: PromptVersion) -> str:
        return f"v{row.number}"

    @admin.display(description=gettext_lazy("tenant"), ordering="assistant__tenant__slug")
    def tenant(self, row: PromptVersion) -> str:
        return row.assistant.tenant.slug

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("assistant", "text", "label", "note") if obj is None else self.fields

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and self._is_draft(obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and self._is_draft(obj)

    def _is_draft(self, version: Any) -> bool:
        return not isinstance(version, PromptVersion) or version.status == PromptVersion.Status.DRAFT

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Fill a new draft with the published text."""
        initial: dict[str, Any] = super().get_changeform_initial_data(request)
        assistant = str(initial.get("assistant", ""))
        if assistant.isascii() and assistant.isdigit() and len(assistant) < 19:
            rows = self.get_queryset(request).filter(assistant_id=int(assistant))
            published = rows.filter(status=PromptVersion.Status.PUBLISHED).first()
            initial["text"] = "" if published is None else prompts.text_to_edit(published)
        return initial

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            prompts.edit_draft(version=obj, text=obj.text, note=obj.note, label=obj.label, actor=request.user)
            return
        made = prompts.draft_prompt(
            assistant=obj.assistant, text=obj.text, note=obj.note, label=obj.label, actor=request.user
        )
        obj.pk, obj.number, obj.status, obj.created_at = made.pk, made.number, made.status, made.created_at
        obj._state.adding = False

    @admin.action(description=gettext_lazy("Publish the selected versions (one per assistant)"), permissions=["add"])
    def publish(self, request: HttpRequest, queryset: QuerySet[PromptVersion]) -> HttpResponse | None:
        versions = list(queryset.select_related("assistant__tenant"))
        if len({version.assistant_id for version in versions}) != len(versions):
            self.message_user(request, gettext("Select only one version per assistant."), messages.ERROR)
            return None
        if "sure" in request.POST:
            versions = [version for version in versions if not self.publish_version(request, version)]
        return self.ask(request, versions) if versions else None

    def ask(self, request: HttpRequest, versions: Sequence[PromptVersion]) -> HttpResponse:
        """Show each version beside what is published, and ask whether to publish it."""
        used = self.get_queryset(request).filter(status=PromptVersion.Status.PUBLISHED)
        published = {one.assistant_id: one for one in used.filter(assistant__in=[one.assistant for one in versions])}
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Publish?"),
            "opts": self.opts,
            "asked": [self.shown(one, published.get(one.assistant_id)) for one in versions],
        }
        return TemplateResponse(request, self.publish_template, context)

    def shown(self, version: PromptVersion, published: PromptVersion | None) -> dict[str, Any]:
        """Return what the page that asks shows of a version."""
        name = assistant_label(version.assistant)
        state = shown_state(prompts.text_to_edit(version), published)
        return {"version": version, "name": name, "published": published, "state": state}

    @transaction.atomic
    def publish_version(self, request: HttpRequest, version: PromptVersion) -> bool:
        """Publish a version, with a message; return False if it, or what is published, is not what was shown."""
        prompts.lock_assistant(version.assistant_id)
        version.refresh_from_db(fields=["text", "uses_variables"])
        published = version.assistant.prompt_versions.filter(status=PromptVersion.Status.PUBLISHED).first()
        if shown_state(prompts.text_to_edit(version), published) not in request.POST.getlist("shown"):
            self.message_user(request, gettext(NOT_AS_SHOWN), messages.WARNING)
            return False
        try:
            prompts.publish_prompt(version=version, actor=request.user)
        except UnknownVariables as exc:
            self.message_user(request, " ".join(problems_of(exc)), messages.ERROR)
            return True
        text = gettext("Version %(number)s of %(assistant)s is published, and used from the next run on.")
        text %= {"number": version.number, "assistant": assistant_label(version.assistant)}
        self.message_user(request, text, messages.SUCCESS)
        return True

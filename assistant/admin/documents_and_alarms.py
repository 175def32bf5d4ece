"""Documents and alarms of the shipped library; registered only if their tool family is on."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from assistant.admin.filters import TENANT
from assistant.admin.links import user_column, username
from assistant.admin.tenant_scope import TenantForm, TenantScopedAdmin
from assistant.models import Alarm, Document
from assistant.services.knowledge.documents import DocumentError, check_document, read_file, store_document
from assistant.services.toolpolicy.catalogue import is_family_on


class DocumentForm(TenantForm):
    """Text entered here or read from an uploaded file, validated as the index requires."""

    file = forms.FileField(required=False, help_text="A PDF, Markdown or text file in place of the text.")

    class Meta:
        model = Document
        fields = ("tenant", "title", "kind", "text")
        widgets = {"text": forms.Textarea(attrs={"rows": 24, "cols": 100})}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        try:
            self._take(cleaned)
        except DocumentError as exc:
            self.add_error("file" if cleaned.get("file") else None, str(exc))
        return cleaned

    def _take(self, cleaned: dict[str, Any]) -> None:
        if cleaned.get("file"):
            content = read_file(cleaned["file"])
            cleaned["kind"], cleaned["text"] = content.kind, content.text
            self.instance.filename = content.filename
        tenant = cleaned.get("tenant")
        if tenant is not None and "title" in cleaned:
            draft = Document(pk=self.instance.pk, tenant=tenant, title=cleaned["title"], text=cleaned.get("text") or "")
            check_document(document=draft)
            cleaned["title"], cleaned["text"] = draft.title, draft.text


class DocumentAdmin(TenantScopedAdmin):
    """Documents that a tenant's assistants can search and quote."""

    form = DocumentForm
    list_display = ("title", "tenant", "kind", "filename", "updated_at")
    list_filter = (TENANT, "kind", "updated_at")
    search_fields = ("title", "text")
    list_select_related = ("tenant",)
    fields = ("tenant", "title", "kind", "text", "file", "filename", "created_at", "updated_at")
    readonly_fields = ("filename", "created_at", "updated_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        rows: QuerySet[Document] = super().get_queryset(request)
        is_list = request.resolver_match is not None and str(request.resolver_match.url_name).endswith("_changelist")
        return rows.defer("text") if is_list else rows

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        store_document(document=obj)


class AlarmAdmin(TenantScopedAdmin):
    """Members' alarms: set by members, editable by a tenant's admin."""

    possible_actions = frozenset({"view", "change", "delete"})
    list_display = ("at", "label", "state", "user", "tenant", "created_at")
    list_filter = (TENANT, "state", "at")
    search_fields = ("label", username("user"))
    list_select_related = ("tenant", "user")
    fields = ("tenant", "member", "at", "label", "state", "created_at")
    readonly_fields = ("member", "created_at")
    member = user_column("user")


if is_family_on("knowledge"):
    admin.site.register(Document, DocumentAdmin)
if is_family_on("reminders"):
    admin.site.register(Alarm, AlarmAdmin)

"""Documents of the shipped library; registered only if their tool family is on."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.decorators import method_decorator
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.csrf import csrf_protect

from assistant.admin.base.filters import TENANT
from assistant.admin.base.tenant_scope import TenantForm
from assistant.contrib.panel.admin.assistants.document_upload import UploadingAdmin
from assistant.contrib.panel.services.document_trust import trust_documents
from assistant.models import Document
from assistant.services.files.reader_turns import Uploader
from assistant.services.knowledge.documents import check_document, store_document
from assistant.services.knowledge.files import Content, DocumentError, read_file
from assistant.services.toolpolicy.catalogue import is_family_on


class DocumentForm(TenantForm):
    """Text entered here or read from an uploaded file, validated as the index requires."""

    file = forms.FileField(
        label=gettext_lazy("File"),
        required=False,
        help_text=gettext_lazy("A PDF, Word, Excel, Markdown, HTML or text file in place of the text."),
    )
    # The uploaded file's text, or why it cannot be read; set on the form class of each request.
    content: ClassVar[Content | DocumentError | None] = None

    class Meta:
        model = Document
        fields = ("tenant", "title", "kind", "is_trusted", "text")
        widgets = {"text": forms.Textarea(attrs={"rows": 24, "cols": 100})}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        try:
            self._take(cleaned)
        except DocumentError as exc:
            self.add_error("file" if cleaned.get("file") else None, str(exc))
        return cleaned

    def _take(self, cleaned: dict[str, Any]) -> None:
        if isinstance(self.content, DocumentError):
            raise self.content
        if cleaned.get("file") and self.content is not None:
            cleaned["kind"], cleaned["text"] = self.content.kind, self.content.text
            self.instance.filename = self.content.filename
            self.instance.hidden = [list(pair) for pair in self.content.hidden]
        elif "text" in self.changed_data:
            # Whoever types a text sees all of it.
            self.instance.hidden = []
        tenant = cleaned.get("tenant")
        if tenant is not None and "title" in cleaned:
            draft = Document(pk=self.instance.pk, tenant=tenant, title=cleaned["title"], text=cleaned.get("text") or "")
            check_document(document=draft)
            cleaned["title"], cleaned["text"] = draft.title, draft.text


class DocumentAdmin(UploadingAdmin):
    """Documents that a tenant's assistants can search and quote."""

    form = DocumentForm
    list_display = ("title", "tenant", "kind", "is_trusted", "filename", "updated_at")
    list_filter = (TENANT, "kind", "is_trusted", "updated_at")
    actions = ("trust", "distrust")
    search_fields = ("title", "text")
    list_select_related = ("tenant",)
    fields = ("tenant", "title", "kind", "is_trusted", "text", "file", "filename", "created_at", "updated_at")
    readonly_fields = ("filename", "created_at", "updated_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        rows: QuerySet[Document] = super().get_queryset(request)
        is_list = request.resolver_match is not None and str(request.resolver_match.url_name).endswith("_changelist")
        return rows.defer("text") if is_list else rows

    @method_decorator(csrf_protect)
    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        # Read before Django opens its transaction, during which SQLite lets nobody else write.
        if request.method == "POST" and self.may(request, "change" if object_id else "add"):
            request._document_content = _content_of(request)  # type: ignore[attr-defined]
        return super().changeform_view(request, object_id, form_url, extra_context)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form: Any = super().get_form(request, obj, change, **kwargs)
        form.content = getattr(request, "_document_content", None)
        return form

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        store_document(document=obj)

    @admin.action(description=gettext_lazy("Trust the selected documents"), permissions=["change"])
    def trust(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        self._set_trust(request, queryset, is_trusted=True)

    @admin.action(description=gettext_lazy("Do not trust the selected documents"), permissions=["change"])
    def distrust(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        self._set_trust(request, queryset, is_trusted=False)

    def _set_trust(self, request: HttpRequest, queryset: QuerySet[Document], *, is_trusted: bool) -> None:
        count = trust_documents(actor=request.user, documents=queryset.select_related("tenant"), is_trusted=is_trusted)
        changed = ngettext("%(count)d document was changed.", "%(count)d documents were changed.", count)
        self.message_user(request, changed % {"count": count})


def _content_of(request: HttpRequest) -> Content | DocumentError | None:
    """Return the content of the uploaded file, why it cannot be read, or None without a file."""
    file = request.FILES.get("file")
    if not isinstance(file, UploadedFile) or not file:
        return None
    try:
        # Which tenant the form names has not been checked yet.
        user = request.user
        uploader = Uploader(f"staff-{user.pk}", user.pk or 0, is_operator=user.is_superuser)
        return read_file(file, uploader=uploader)
    except DocumentError as exc:
        return exc


if is_family_on("knowledge"):
    admin.site.register(Document, DocumentAdmin)

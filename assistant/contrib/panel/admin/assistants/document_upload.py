"""The page that uploads many documents at once, file by file, with what became of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext, gettext_lazy

from assistant.admin.base.tenant_scope import TenantScopedAdmin, choices_of
from assistant.admin.base.visible_tenants import picked_tenant_id
from assistant.models import Document, Tenant
from assistant.services.files.reader_turns import Uploader
from assistant.services.knowledge.files import MAX_FILE_BYTES, DocumentError, read_file
from assistant.services.knowledge.folders import MAX_FILES, store_content
from assistant.services.knowledge.places import has_places, place_names

# Files of a form that is sent without scripts.
MAX_AT_ONCE = 20
OUTCOMES = {
    "added": gettext_lazy("added"),
    "replaced": gettext_lazy("replaced"),
    "unchanged": gettext_lazy("unchanged"),
    "refused": gettext_lazy("refused"),
}


class _Files(forms.ClearableFileInput):
    allow_multiple_selected = True


class UploadForm(forms.Form):
    """Whose documents they become, and where they go."""

    tenant = forms.ModelChoiceField(Tenant.objects.none(), label=gettext_lazy("Tenant"))
    collection = forms.CharField(
        label=gettext_lazy("Collection"),
        max_length=100,
        required=False,
        help_text=gettext_lazy("Who may read them. Empty: they stay where they are, new ones are for everybody."),
        widget=forms.TextInput(attrs={"list": "collections", "autocomplete": "off"}),
    )
    is_trusted = forms.BooleanField(
        label=gettext_lazy("trusted"),
        required=False,
        help_text=gettext_lazy("Their authors may instruct the assistant: finding them does not mark a conversation."),
    )
    uploads = forms.FileField(
        label=gettext_lazy("Files"),
        required=False,
        widget=_Files(attrs={"multiple": True}),
        help_text=gettext_lazy("PDF, Word, Excel, PowerPoint, Markdown, HTML or text files."),
    )
    # The documents that earlier files of the same upload became.
    stored = forms.CharField(required=False, max_length=200_000, widget=forms.HiddenInput)

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered = choices_of(request, Tenant)
        self.fields["tenant"].queryset = offered  # type: ignore[attr-defined]
        # Of several, none is chosen for them.
        only = [tenant.pk for tenant in offered[:2]]
        self.fields["tenant"].initial = only[0] if len(only) == 1 else picked_tenant_id(request)
        if not has_places():
            del self.fields["collection"]

    def clean_stored(self) -> frozenset[int]:
        parts = [part for part in self.cleaned_data["stored"].split(",") if part]
        if len(parts) > MAX_FILES or not all(part.isascii() and part.isdecimal() and len(part) < 19 for part in parts):
            raise forms.ValidationError(gettext("These are no documents."))
        return frozenset(map(int, parts))


@dataclass(frozen=True, slots=True)
class Line:
    """What became of one file."""

    name: str
    outcome: str
    about: str
    document: int | None = None

    @property
    def title(self) -> str:
        return str(OUTCOMES[self.outcome])


class UploadingAdmin(TenantScopedAdmin):
    """A page of documents with the page that uploads many."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.upload_view)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return view(*args, **kwargs)

        # By this and the end of its name it is known where files come to.
        wrapper.model_admin = self  # type: ignore[attr-defined]
        name = "assistant_document_upload_add"
        return [path("upload/", update_wrapper(wrapper, view), name=name), *super().get_urls()]

    def upload_view(self, request: HttpRequest) -> HttpResponse:
        """Show the form; a POST stores its files, and answers with JSON if that is asked for."""
        if not (self.may(request, "add") and self.may(request, "change")):
            raise PermissionDenied
        is_post = request.method == "POST"
        form = UploadForm(request.POST or None, request=request) if is_post else UploadForm(request=request)
        files = request.FILES.getlist("uploads") if is_post else []
        lines: list[Line] = []
        if is_post and form.is_valid():
            if not files or len(files) > MAX_AT_ONCE:
                form.add_error("uploads", gettext("Choose between 1 and %(most)s files.") % {"most": MAX_AT_ONCE})
            else:
                lines = list(_store(request, form.cleaned_data, files))
        if is_post and request.headers.get("Accept", "") == "application/json":
            return _as_json(form, lines)
        return TemplateResponse(
            request,
            "admin/assistant/document/upload.html",
            {
                **self.admin_site.each_context(request),
                "title": gettext("Upload documents"),
                "opts": Document._meta,
                "form": form,
                "lines": lines,
                "collections": _collections(form),
                "max_bytes": MAX_FILE_BYTES,
                "max_files": MAX_FILES,
                "too_large": gettext("The file is larger than %(size)s MB.") % {"size": MAX_FILE_BYTES // 1024**2},
                "unreachable": gettext("The server cannot be reached. Upload this file again."),
                "progress": gettext("%(done)s of %(all)s files"),
            },
            status=200 if form.is_valid() or not is_post else 400,
        )


def _collections(form: UploadForm) -> list[str]:
    if "collection" not in form.fields:
        return []
    offered = form.fields["tenant"].queryset  # type: ignore[attr-defined]
    return sorted({name for tenant in offered[:20] for name in place_names(tenant)})[:500]


def _store(request: HttpRequest, given: dict[str, Any], files: list[UploadedFile[bytes]]) -> Iterator[Line]:
    user = request.user
    uploader = Uploader(f"staff-{user.pk}", user.pk or 0, is_operator=user.is_superuser)
    others = set(given["stored"])
    for file in files:
        name = file.name or ""
        try:
            kept = store_content(
                tenant=given["tenant"],
                content=read_file(file, uploader=uploader),
                actor=user,
                is_trusted=given["is_trusted"],
                collection=given.get("collection", ""),
                others=others,
            )
        except DocumentError as exc:
            yield Line(name, "refused", str(exc))
            continue
        others.add(kept.document.pk)
        yield Line(name, kept.outcome, kept.document.title, kept.document.pk)


def _as_json(form: UploadForm, lines: list[Line]) -> JsonResponse:
    if not form.is_valid():
        problem = " ".join(str(text) for texts in form.errors.values() for text in texts)
        return JsonResponse({"problem": problem}, status=400)
    return JsonResponse(
        {
            "lines": [
                {"outcome": one.outcome, "title": one.title, "about": one.about, "document": one.document}
                for one in lines
            ]
        }
    )

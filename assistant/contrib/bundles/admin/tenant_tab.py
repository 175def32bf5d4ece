"""A tenant's tab with bundles: exporting its configuration, and importing one after looking at the difference."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from assistant.admin.base.own_addresses import reverse
from assistant.contrib.bundles.admin.bundle_file import bundle_file
from assistant.contrib.bundles.admin.shown_difference import shown_parts
from assistant.contrib.bundles.services.difference import Difference
from assistant.contrib.bundles.services.export import bundle_of_assistant, bundle_of_tenant
from assistant.contrib.bundles.services.format import MAX_BYTES, Bundle, BundleError
from assistant.contrib.bundles.services.imports import ChangedMeanwhile, ImportRefused, import_bundle, preview_import
from assistant.contrib.bundles.services.reading import read_bundle
from assistant.contrib.panel.admin.tenants.tabs import Tab, page_of, tenant_of_tab
from assistant.models import Assistant, Tenant

BUNDLE = Tab("bundle", _("Bundle"), setting="ASSISTANT_TENANT_BUNDLES")
TEMPLATE = "admin/assistant/bundles/tab.html"


class UploadForm(forms.Form):
    """The file; only as much of it is read as a bundle may have."""

    file = forms.FileField(
        label=_("Bundle"), widget=forms.FileInput(attrs={"accept": "application/json,.json"}), allow_empty_file=True
    )
    bundle: Bundle
    text: str

    def clean_file(self) -> None:
        self.bundle, self.text = _read(self.cleaned_data["file"].read(MAX_BYTES + 1))


class ConfirmForm(forms.Form):
    """The text of the file whose difference was shown, and the fingerprint of that difference."""

    text = forms.CharField(widget=forms.HiddenInput, strip=False)
    expected = forms.CharField(widget=forms.HiddenInput, max_length=64)
    bundle: Bundle

    def clean_text(self) -> str:
        text: str = self.cleaned_data["text"]
        # Browsers send line ends as two characters, with which the largest files would be too large.
        self.bundle, _text = _read(text.replace("\r\n", "\n").encode("utf-8", "surrogatepass"))
        return text


def _read(content: bytes) -> tuple[Bundle, str]:
    """Return the bundle and its text. Raises `ValidationError` with what is wrong with it."""
    try:
        return read_bundle(content), content.decode("utf-8-sig")
    except BundleError as exc:
        raise forms.ValidationError(list(exc.problems)) from None


def bundle_urls(admin: Any) -> list[URLPattern]:
    """Return the addresses of the tab, of the export and of the confirmed import."""

    def tab(request: HttpRequest, object_id: str) -> HttpResponse:
        tenant = tenant_of_tab(request, object_id, BUNDLE)
        form = UploadForm(request.POST, request.FILES) if request.method == "POST" else UploadForm()
        if not form.is_bound or not form.is_valid():
            return _page(admin, request, tenant, form=form)
        difference = preview_import(bundle=form.bundle, tenant=tenant, actor=request.user)
        return _page(admin, request, tenant, difference=difference, text=form.text)

    def export(request: HttpRequest, object_id: str) -> HttpResponse:
        tenant = tenant_of_tab(request, object_id, BUNDLE)
        try:
            return bundle_file(tenant.slug, bundle_of_tenant(tenant=tenant))
        except BundleError as exc:
            admin.message_user(
                request, gettext("This cannot be exported: %(reason)s") % {"reason": exc}, messages.ERROR
            )
            return HttpResponseRedirect(reverse(BUNDLE.url_name, args=[tenant.pk]))

    def export_assistant(request: HttpRequest, object_id: str, assistant: int) -> HttpResponse:
        tenant = tenant_of_tab(request, object_id, BUNDLE)
        row = get_object_or_404(Assistant, pk=assistant, tenant=tenant)
        try:
            return bundle_file(f"{tenant.slug}.{row.slug}", bundle_of_assistant(assistant=row))
        except BundleError as exc:
            admin.message_user(
                request, gettext("This cannot be exported: %(reason)s") % {"reason": exc}, messages.ERROR
            )
            return HttpResponseRedirect(reverse("admin:assistant_assistant_change", args=[row.pk]))

    def confirm(request: HttpRequest, object_id: str) -> HttpResponse:
        tenant = tenant_of_tab(request, object_id, BUNDLE)
        form = ConfirmForm(request.POST)
        address = reverse(BUNDLE.url_name, args=[tenant.pk])
        if not form.is_valid():
            admin.message_user(request, gettext("Nothing was imported: choose the file again."), messages.ERROR)
            return HttpResponseRedirect(address)
        try:
            done = import_bundle(
                bundle=form.bundle, tenant=tenant, actor=request.user, expected=form.cleaned_data["expected"]
            )
        except ChangedMeanwhile as exc:
            admin.message_user(request, str(exc), messages.WARNING)
            return _page(admin, request, tenant, difference=exc.difference, text=form.cleaned_data["text"])
        except ImportRefused as exc:
            admin.message_user(request, str(exc), messages.ERROR)
            return HttpResponseRedirect(address)
        admin.message_user(request, _sentence(done), messages.SUCCESS)
        return HttpResponseRedirect(address)

    wrap = admin.admin_site.admin_view
    return [
        path("<path:object_id>/bundle/", wrap(tab), name="assistant_tenant_bundle"),
        path("<path:object_id>/bundle/export/", wrap(require_safe(export)), name="assistant_tenant_bundle_export"),
        path(
            "<path:object_id>/bundle/export/<int:assistant>/",
            wrap(require_safe(export_assistant)),
            name="assistant_tenant_bundle_assistant",
        ),
        path("<path:object_id>/bundle/import/", wrap(require_POST(confirm)), name="assistant_tenant_bundle_import"),
    ]


def _page(
    admin: Any,
    request: HttpRequest,
    tenant: Tenant,
    *,
    form: UploadForm | None = None,
    difference: Difference | None = None,
    text: str = "",
) -> HttpResponse:
    own: dict[str, Any] = {"form": form or UploadForm(), "limit_kib": MAX_BYTES // 1024}
    if difference is not None:
        own |= {
            "difference": difference,
            "parts": shown_parts(difference),
            "same": difference.counts.get("same", 0),
            "confirm": ConfirmForm(initial={"text": text, "expected": difference.digest}),
        }
    return TemplateResponse(request, TEMPLATE, page_of(admin.admin_site, request, tenant, BUNDLE, **own))


def _sentence(done: Difference) -> str:
    made, changed = len(done.of_kind("create")), len(done.of_kind("change"))
    sentence = gettext("Imported: %(made)d created, %(changed)d changed.") % {"made": made, "changed": changed}
    if left := len(done.of_kind("by_hand")):
        rest = ngettext("%(left)d thing is left to do by hand.", "%(left)d things are left to do by hand.", left)
        sentence += " " + rest % {"left": left}
    return sentence

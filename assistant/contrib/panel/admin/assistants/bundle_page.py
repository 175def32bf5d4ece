"""The bundle of one assistant, which its page exports."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from assistant.admin.base.tenant_scope import TenantScopedAdmin
from assistant.contrib.panel.admin.base.bundle_file import bundle_file
from assistant.contrib.panel.admin.tenants.tabs import BUNDLE
from assistant.models import Assistant
from assistant.services.bundles.export import bundle_of_assistant
from assistant.services.bundles.format import BundleError


class BundlePage(TenantScopedAdmin):
    """The address of the export."""

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(require_safe(self.bundle_view))
        return [path("<path:object_id>/bundle/", view, name="assistant_assistant_bundle"), *super().get_urls()]

    def bundle_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        assistant = self.row_or_404(request, object_id, self.has_change_permission)
        if not BUNDLE.is_open(request, assistant.tenant_id):
            raise Http404("There is no such page.")
        try:
            bundle = bundle_of_assistant(assistant=assistant)
        except BundleError as exc:
            reason = gettext("This cannot be exported: %(reason)s") % {"reason": exc}
            self.message_user(request, reason, messages.ERROR)
            return HttpResponseRedirect(reverse("admin:assistant_assistant_change", args=[assistant.pk]))
        return bundle_file(f"{assistant.tenant.slug}.{assistant.slug}", bundle)


def bundle_links(assistant: Assistant) -> list[SafeString]:
    """Return links to the export, and to the tab where a bundle is imported."""
    if not settings.TENANT_BUNDLES:
        return []
    export = reverse("admin:assistant_assistant_bundle", args=[assistant.pk])
    imports = reverse("admin:assistant_tenant_bundle", args=[assistant.tenant_id])
    return [
        format_html('<a href="{}" download>{}</a>', export, gettext("Export as a bundle")),
        format_html('<a href="{}">{}</a>', imports, gettext("Import a bundle")),
    ]

"""The page of the audit trail: sentences with links to what was changed, one for each act, and a file of them."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.views.decorators.http import require_safe

from assistant.admin.audit import AuditEntryAdmin
from assistant.admin.base.changes import sentence_of_entry
from assistant.admin.base.filters import TENANT
from assistant.admin.base.names import name_of
from assistant.admin.base.visible_tenants import is_list, is_operator, picked_tenant_id
from assistant.contrib.panel.admin.base.action_titles import ActionFilter, action_title
from assistant.contrib.panel.admin.base.csv_file import csv_response
from assistant.contrib.panel.admin.base.replacing import replace
from assistant.contrib.panel.admin.lists.designed_list import COLUMNS
from assistant.contrib.panel.admin.settings.audit_links import addresses_of, is_id
from assistant.contrib.panel.services.audit_acts import parts_of, without_parts
from assistant.models import AuditEntry

# Entries of one file, the newest; filters find the others.
MAX_IN_FILE = 20_000
# Of the other entries of an act, which its page shows.
MAX_PARTS = 100
# What a list may be asked for without being searched: its page, and a tenant.
_PLAIN = {"p", "o", COLUMNS, "tenant__id__exact"}


@replace(AuditEntry)
class AuditPages(AuditEntryAdmin):
    """The audit trail: who changed which switch, prompt, key or setting."""

    list_display = ("created_at", "sentence", "who", "tenant")
    list_display_links = ("created_at",)
    list_filter = (TENANT, ("action", ActionFilter), "created_at")
    fields: ClassVar[tuple[Any, ...]] = ("tenant", "what", "target", "details", "who", "change", "parts", "created_at")
    readonly_fields: ClassVar[tuple[Any, ...]] = ("who", "what", "change", "parts")
    change_list_template = "admin/assistant/auditentry/change_list.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_safe(self.csv_view))
        return [path("csv/", view, name="assistant_auditentry_csv"), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        """In a list that nobody has searched, one entry for each act."""
        rows = super().get_queryset(request)
        if not is_list(request) or set(request.GET) - _PLAIN:
            return rows
        has_one = "tenant__id__exact" in request.GET or picked_tenant_id(request) is not None
        return without_parts(rows, is_of_all_tenants=is_operator(request) and not has_one)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> AuditEntry | None:
        """Return the entry with the entries that the user may see, for those of the same act."""
        found: Any = super().get_object(request, object_id, from_field)
        if found is not None:
            found.visible = super().get_queryset(request)
        return found  # type: ignore[no-any-return]

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        found = super().get_changelist_instance(request)
        found.result_list = list(found.result_list)
        addresses = addresses_of(found.result_list)
        for entry in found.result_list:
            entry.address = addresses.get(entry.pk, "")
        return found

    @admin.display(description=gettext_lazy("what"), ordering="action")
    def what(self, entry: AuditEntry) -> str:
        title = action_title(entry.action)
        return gettext("%(what)s, back to before") % {"what": title} if is_undo(entry) else title

    @admin.display(description=gettext_lazy("what"), ordering="action")
    def sentence(self, entry: AuditEntry) -> SafeString:
        """Return what was done to what, with a link, the values before and after, and how many more were changed."""
        address = getattr(entry, "address", "")
        name = gettext("one that is there no more") if is_id(entry.target) and not address else entry.target
        name = gettext("open it") if is_id(name) else name
        target = format_html('<a href="{}">{}</a>', address, name) if address else name
        change = sentence_of_entry(entry)
        more = _more(entry)
        end = (f": {change}" if change else "") + (f" ({more})" if more else "")
        return format_html("{} · <bdi>{}</bdi>{}", self.what(entry), target, end)

    @admin.display(description=gettext_lazy("of the same act"))
    def parts(self, entry: AuditEntry) -> str:
        others = list(parts_of(entry, getattr(entry, "visible", AuditEntry.objects.none()))[:MAX_PARTS])
        lines = [f"{self.what(one)} · {one.target}: {sentence_of_entry(one)}".rstrip(": ") for one in others]
        return "; ".join(lines) or "—"

    def csv_view(self, request: HttpRequest) -> HttpResponse:
        """Return the entries that the list's filters leave as a file, every entry in a line of its own."""
        if not self.has_view_permission(request):
            return HttpResponse(status=403)
        # As the list does it, with its filters and its search.
        rows = super().get_changelist_instance(request).get_queryset(request)
        names = ("created_at", "tenant", "actor", "action")
        head = [*(str(name_of(name)) for name in names), gettext("what"), str(name_of("target"))]
        lines = (
            (
                entry.created_at.isoformat(timespec="seconds"),
                "" if entry.tenant is None else entry.tenant.slug,
                "" if entry.actor is None else entry.actor.get_username(),
                entry.action,
                self.what(entry),
                entry.target,
                sentence_of_entry(entry),
            )
            for entry in rows.select_related("tenant", "actor")[:MAX_IN_FILE]
        )
        return csv_response("audit", [*head, gettext("before → after")], lines)


def is_undo(entry: AuditEntry) -> bool:
    """Whether an entry says that something was set back to what it was before."""
    details: Any = entry.details if isinstance(entry.details, dict) else {}
    if details.get("undo"):
        return True
    values = details.get("values")
    pair = values.get("published version") if isinstance(values, dict) else None
    if entry.action != "prompt.publish" or not isinstance(pair, list) or len(pair) != 2:
        return False
    before, after = (str(one) if str(one).isascii() and str(one).isdigit() else "0" for one in pair)
    return int(after) < int(before)


def _more(entry: AuditEntry) -> str:
    details: Any = entry.details if isinstance(entry.details, dict) else {}
    count = details.get("parts")
    if not isinstance(count, int) or count < 1:
        return ""
    more = ngettext("and %(count)d more change of the same act", "and %(count)d more changes of the same act", count)
    return more % {"count": count}

"""The page of folders and websites: where each is, how often it is read, and what the last reading has found."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from assistant.admin.base.filters import TENANT
from assistant.admin.base.tenant_scope import TenantForm, TenantScopedAdmin
from assistant.admin.base.visible_tenants import is_operator
from assistant.contrib.sources.models import Source
from assistant.contrib.sources.services.changes import SOONEST, order_refresh, remove_missing
from assistant.contrib.sources.services.checking import PlaceRefused, check_source

OUTCOMES = {
    "added": gettext_lazy("added"),
    "replaced": gettext_lazy("replaced"),
    "removed": gettext_lazy("removed"),
    "missing": gettext_lazy("missing"),
    "skipped": gettext_lazy("skipped"),
    "unchanged": gettext_lazy("unchanged"),
}


class SourceForm(TenantForm):
    """A source; folders of the server are for operators alone, who know what is in them."""

    is_operator: ClassVar[bool] = False

    class Meta:
        model = Source
        fields = (
            "tenant",
            "kind",
            "place",
            "collection",
            "is_trusted",
            "every_hours",
            "max_pages",
            "max_depth",
            "is_on",
        )
        widgets = {"place": forms.TextInput(attrs={"class": "vLargeTextField", "spellcheck": "false"})}

    def clean_kind(self) -> str:
        kind = str(self.cleaned_data["kind"])
        if kind == Source.Kind.FOLDER and not self.is_operator:
            raise forms.ValidationError(_("Folders of the server are for its operators."))
        return kind

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if {"tenant", "kind", "place", "collection"} <= cleaned.keys():
            names = ("tenant", "kind", "place", "collection")
            source = Source(pk=self.instance.pk, **{name: cleaned[name] for name in names})
            try:
                check_source(source)
            except PlaceRefused as exc:
                self.add_error(exc.field, str(exc))
            else:
                cleaned["place"] = source.place
        return cleaned


class SourceAdmin(TenantScopedAdmin):
    """Folders and websites that become a tenant's documents."""

    form = SourceForm
    list_display = ("place", "tenant", "kind", "is_on", "state", "counts", "ended_at", "next_at")
    list_filter = (TENANT, "kind", "is_on", "state")
    search_fields = ("place",)
    list_select_related = ("tenant",)
    actions = ("refresh", "remove_missing")
    fieldsets = (
        (None, {"fields": ("tenant", "kind", "place", "is_on")}),
        (gettext_lazy("Documents"), {"fields": ("collection", "is_trusted")}),
        (gettext_lazy("Bounds"), {"fields": ("every_hours", "max_pages", "max_depth")}),
        (gettext_lazy("Last reading"), {"fields": ("state", "problem", "ended_at", "next_at", "report_shown")}),
    )
    readonly_fields = ("state", "problem", "ended_at", "next_at", "report_shown")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        return fieldsets if obj is not None else fieldsets[:-1]

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form: Any = super().get_form(request, obj, change, **kwargs)
        form.is_operator = is_operator(request)
        return form

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "kind" and not is_operator(request):
            kwargs["choices"] = [(Source.Kind.WEBSITE, Source.Kind.WEBSITE.label)]
        return super().formfield_for_choice_field(db_field, request, **kwargs)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and self._is_theirs(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and self._is_theirs(request, obj)

    def _is_theirs(self, request: HttpRequest, obj: Any) -> bool:
        return obj is None or obj.kind != Source.Kind.FOLDER or is_operator(request)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if form.changed_data:
            # At once, but no more often than by the action.
            obj.next_at = max(timezone.now(), obj.began_at + SOONEST) if obj.began_at is not None else None
        super().save_model(request, obj, form, change)

    @admin.display(description=gettext_lazy("last reading"))
    def counts(self, obj: Any) -> str:
        return _counts(obj)

    @admin.display(description=gettext_lazy("report"))
    def report_shown(self, obj: Any) -> SafeString | str:
        lines = format_html_join(
            "",
            '<div><strong>{}</strong> <span dir="ltr">{}</span>{}</div>',
            (
                (OUTCOMES.get(outcome, outcome), address, f": {about}" if about else "")
                for outcome, address, about in obj.report.get("lines", [])
            ),
        )
        return format_html("<div>{}</div>{}", _counts(obj) or "—", lines)

    @admin.action(description=gettext_lazy("Read now"), permissions=["change"])
    def refresh(self, request: HttpRequest, queryset: QuerySet[Source]) -> None:
        ordered = 0
        for source in queryset.filter(is_on=True).select_related("tenant"):
            again_at = order_refresh(source=source, actor=request.user)
            if again_at is None:
                ordered += 1
            else:
                self._tell_later(request, source, again_at)
        told = ngettext("%(count)d is read now.", "%(count)d are read now.", ordered)
        self.message_user(request, told % {"count": ordered})

    def _tell_later(self, request: HttpRequest, source: Source, again_at: datetime) -> None:
        shown = date_format(timezone.localtime(again_at), "SHORT_DATETIME_FORMAT")
        told = _("%(place)s was read just now. It can be read again at %(time)s.")
        self.message_user(request, told % {"place": source.place, "time": shown}, messages.WARNING)

    @admin.action(description=gettext_lazy("Remove documents of missing pages"), permissions=["change"])
    def remove_missing(self, request: HttpRequest, queryset: QuerySet[Source]) -> None:
        count = sum(remove_missing(source=source, actor=request.user) for source in queryset.select_related("tenant"))
        told = ngettext("%(count)d document was removed.", "%(count)d documents were removed.", count)
        self.message_user(request, told % {"count": count})


def _counts(source: Source) -> str:
    counts = source.report.get("counts", {})
    return ", ".join(f"{counts[name]} {label}" for name, label in OUTCOMES.items() if counts.get(name))

"""The pages of schedules: questions that assistants are asked at set times in members' names, with their outcomes."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assistant.admin.base.filters import TENANT
from assistant.admin.base.links import user_column, username
from assistant.admin.base.tenant_scope import Scoped, TenantForm, TenantScopedAdmin
from assistant.contrib.timed.models import Schedule, ScheduleRun
from assistant.contrib.timed.services.schedules.schedules import (
    ScheduleDraft,
    ScheduleRefused,
    check_draft,
    delete_schedule,
    make_schedule,
    moment_in_zone,
    set_paused,
)
from assistant.services.tenancy.members import find_member


class ScheduleForm(TenantForm):
    """A new schedule of the person who adds it, who has to be a member of the tenant."""

    class Meta:
        model = Schedule
        fields = (
            "tenant", "assistant", "name", "prompt", "cron", "at", "timezone", "ends_at", "budget", "missed",
            "delivery",
        )  # fmt: skip

    person_id: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "timezone" in self.fields:
            self.fields["timezone"].required = False
            self.fields["timezone"].help_text = _("Empty: the tenant's.")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        tenant, assistant = cleaned.get("tenant"), cleaned.get("assistant")
        if self.errors or tenant is None or assistant is None:
            return cleaned
        if find_member(user_id=self.person_id, tenant_slug=tenant.slug) is None:
            self.add_error("tenant", _("You are no member of this tenant, and a schedule asks in your name."))
            return cleaned
        cleaned["timezone"] = cleaned["timezone"] or tenant.timezone
        try:
            check_draft(draft_of(cleaned), zone=cleaned["timezone"], now=timezone.now())
        except ScheduleRefused as exc:
            self.add_error(None, str(exc))
        return cleaned


def draft_of(values: dict[str, Any]) -> ScheduleDraft:
    """Return the schedule that a form asks for."""
    names = ("name", "prompt", "cron", "at", "timezone", "ends_at", "budget", "missed", "delivery")
    return ScheduleDraft(assistant=values["assistant"].slug, **{name: values[name] for name in names})


class RunInline(Scoped, admin.TabularInline[ScheduleRun, Schedule]):
    """The moments of a schedule."""

    model = ScheduleRun
    possible_actions = frozenset({"view"})
    fields = ("due_at", "state", "run_id", "problem", "cost", "delivered_at", "ended_at")
    readonly_fields = fields
    extra = 0
    max_num = 0


@admin.register(Schedule)
class ScheduleAdmin(TenantScopedAdmin):
    """Schedules of members. Admins can pause and delete all of them, but add schedules only for themselves."""

    possible_actions = frozenset({"view", "add", "delete"})
    form = ScheduleForm
    inlines = (RunInline,)
    actions = ("pause", "resume")
    list_display = ("name", "state", "reason", "next_moment", "cron", "assistant", "user", "tenant")
    list_filter = (TENANT, "state")
    search_fields = ("name", username("user"))
    list_select_related = ("tenant", "user", "assistant")
    member = user_column("user")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        shown = ("state", "reason", "next_moment", "member", "created_at")
        return ScheduleForm.Meta.fields if obj is None else (*shown, *ScheduleForm.Meta.fields)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return () if obj is None else self.get_fields(request, obj)

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        return () if obj is None else self.inlines

    @admin.display(description=gettext_lazy("next"), ordering="next_at")
    def next_moment(self, row: Schedule) -> str:
        if row.next_at is None:
            return ""
        shown = date_format(moment_in_zone(row, row.next_at), "DATETIME_FORMAT", use_l10n=True)
        return f"{shown} ({row.timezone})"

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form: Any = super().get_form(request, obj, change, **kwargs)
        form.person_id = request.user.pk
        return form

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        member = find_member(user_id=request.user.pk, tenant_slug=obj.tenant.slug)
        if change or member is None:
            raise PermissionDenied
        made = make_schedule(member=member, draft=draft_of(form.cleaned_data))
        obj.pk, obj.user = made.pk, made.user

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        delete_schedule(row=obj, actor=request.user)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> None:
        for row in queryset.select_related("tenant"):
            delete_schedule(row=row, actor=request.user)

    @admin.action(description=gettext_lazy("Pause the selected schedules"), permissions=["delete"])
    def pause(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> None:
        self._set(request, queryset, is_paused=True)

    @admin.action(description=gettext_lazy("Let the selected schedules go on"), permissions=["delete"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> None:
        self._set(request, queryset, is_paused=False)

    def _set(self, request: HttpRequest, queryset: QuerySet[Schedule], *, is_paused: bool) -> None:
        for row in queryset.select_related("tenant"):
            try:
                set_paused(row=row, is_paused=is_paused, actor=request.user)
            except ScheduleRefused as exc:
                self.message_user(request, f"{row}: {exc}", messages.ERROR)

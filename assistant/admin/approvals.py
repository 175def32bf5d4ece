"""Calls that wait for a person, to be answered by an operator; and incidents, to be looked into."""

from __future__ import annotations

from asgiref.sync import async_to_sync
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from assistant.admin.filters import TENANT
from assistant.admin.scope import ReadOnlyAdmin, TenantScopedAdmin
from assistant.models import Approval, Incident
from assistant.services import approvals
from assistant.services.inputs import Refused


@admin.register(Approval)
class ApprovalAdmin(ReadOnlyAdmin):
    """Tool calls that wait; answering them lets the member's run go on."""

    list_display = ("name", "tenant", "member", "arguments", "started_at")
    list_filter = (TENANT, "name", "started_at")
    search_fields = ("name", "call_id", "arguments", "run__user__username")
    list_select_related = ("tenant", "run__user")
    fields = ("name", "tenant", "member", "arguments", "rule", "call_id", "started_at")
    readonly_fields = ("member",)
    actions = ("approve", "reject")  # type: ignore[assignment]

    @admin.display(description="member", ordering="run__user__username")
    def member(self, call: Approval) -> str:
        return call.waiting_run.user.get_username()

    @admin.action(description="Approve: run these calls")
    def approve(self, request: HttpRequest, queryset: QuerySet[Approval]) -> None:
        self._answer(request, queryset, approved=True)

    @admin.action(description="Reject: do not run these calls")
    def reject(self, request: HttpRequest, queryset: QuerySet[Approval]) -> None:
        self._answer(request, queryset, approved=False)

    def _answer(self, request: HttpRequest, queryset: QuerySet[Approval], *, approved: bool) -> None:
        chosen = list(queryset.values_list("pk", "tenant_id"))
        ids = {pk for pk, _ in chosen}
        by_run = approvals.pending_of_runs(tenant_ids={tenant for _, tenant in chosen}, calls=ids)
        for calls in by_run.values():
            if missing := [call.name for call in calls if call.pk not in ids]:
                sentence = f"This run also waits for {', '.join(missing)}: answer all of its calls at once."
                self.message_user(request, sentence, messages.ERROR)
                continue
            try:
                async_to_sync(approvals.answer_for_member)(
                    calls=calls, approved=approved, decided_by=int(request.user.pk or 0), reason="an operator said no"
                )
            except Refused as exc:
                self.message_user(request, str(exc), messages.ERROR)
                continue
            verb = "Approved" if approved else "Rejected"
            self.message_user(request, f"{verb}: {', '.join(call.name for call in calls)}.", messages.SUCCESS)


@admin.register(Incident)
class IncidentAdmin(TenantScopedAdmin):
    """Results that held another tenant's row, and were stopped."""

    possible = frozenset({"view", "change"})
    list_display = ("tool", "tenant", "description", "is_resolved", "created_at")
    list_filter = (TENANT, "is_resolved", "tool", "created_at")
    search_fields = ("tool", "description", "run_id", "call_id")
    list_select_related = ("tenant",)
    fields = ("tool", "tenant", "user", "run_id", "call_id", "description", "is_resolved", "created_at")
    readonly_fields = ("tool", "tenant", "user", "run_id", "call_id", "description", "created_at")

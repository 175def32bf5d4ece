"""Pages of pending approvals, which operators answer, and of incidents."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from assistant.admin.base.filters import TENANT
from assistant.admin.base.links import username
from assistant.admin.base.tenant_scope import ReadOnlyAdmin, TenantScopedAdmin
from assistant.admin.inbox.approval_form import AnswerForm
from assistant.models import Approval, Incident
from assistant.services.errors import Refused
from assistant.services.runs import approvals
from assistant.services.runs.run_input import Resume
from assistant.services.tenancy import audit_trail


@admin.register(Approval)
class ApprovalAdmin(ReadOnlyAdmin):
    """Tool calls waiting for approval; the member's run continues once they are answered."""

    list_display = ("name", "tenant", "member", "arguments", "started_at")
    list_filter = (TENANT, "name", "started_at")
    search_fields = ("name", "call_id", "arguments", username("run__user"))
    list_select_related = ("tenant", "run__user")
    actions = ("approve", "reject")  # type: ignore[assignment]

    @admin.display(description="member", ordering=username("run__user"))
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
                sentence = f"This run also waits for {', '.join(missing)}: answer all of its calls together."
                self.message_user(request, sentence, messages.ERROR)
                continue
            reason = "" if approved else "an operator said no"
            self._send(request, calls, [Resume(call.call_id, approved=approved, reason=reason) for call in calls])

    def _send(self, request: HttpRequest, calls: list[Approval], answers: list[Resume]) -> bool:
        """Apply the answers and report the outcome on the next page; return whether they were applied."""
        try:
            async_to_sync(approvals.answer_for_member)(calls=calls, answers=answers, decided_by=request.user.pk or 0)
        except Refused as exc:
            self.message_user(request, str(exc), messages.ERROR)
            return False
        for call, answer in zip(calls, answers, strict=True):
            verb = "respond" if answer.response is not None else "approve" if answer.approved else "reject"
            audit_trail.record(actor=request.user, action=f"approval.{verb}", target=call.name, tenant=call.tenant)
        self.message_user(request, f"Answered: {', '.join(call.name for call in calls)}.", messages.SUCCESS)
        return True

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show and process the page that answers all pending calls of one run."""
        call = self.row_or_404(request, object_id, self.has_view_permission)
        (calls,) = approvals.pending_of_runs(tenant_ids=[call.tenant_id], calls=[call.pk]).values()
        data = request.POST if request.method == "POST" else None
        forms = [AnswerForm(one, data) for one in calls]
        # Validate all forms, so that every error is shown.
        are_valid = [form.is_valid() for form in forms] if data is not None else [False]
        if all(are_valid) and self._send(request, calls, [form.answer() for form in forms]):
            return HttpResponseRedirect(reverse("admin:assistant_approval_changelist"))
        context = self.admin_site.each_context(request) | {
            "title": f"Answer {call.name}",
            "opts": self.opts,
            "run": calls[0].waiting_run,
            "answers": list(zip(calls, forms, strict=True)),
        }
        return TemplateResponse(request, "admin/assistant/approval/answer.html", context)


@admin.register(Incident)
class IncidentAdmin(TenantScopedAdmin):
    """Tool results that were withheld because they contained another tenant's row."""

    possible_actions = frozenset({"view", "change"})
    list_display = ("tool", "tenant", "description", "is_resolved", "created_at")
    list_filter = (TENANT, "is_resolved", "tool", "created_at")
    search_fields = ("tool", "description", "run_id", "call_id")
    list_select_related = ("tenant",)
    fields = ("tool", "tenant", "user", "run_id", "call_id", "description", "is_resolved", "created_at")
    readonly_fields = ("tool", "tenant", "user", "run_id", "call_id", "description", "created_at")

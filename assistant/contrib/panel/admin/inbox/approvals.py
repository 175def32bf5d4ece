"""Pages of pending approvals, which operators answer, and of incidents."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, QuerySet, Subquery, UUIDField
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext, gettext_lazy, ngettext

from assistant.admin.base.filters import TENANT
from assistant.admin.base.links import assistant_label, link, link_to_row, username
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.tenant_scope import ReadOnlyAdmin, TenantScopedAdmin
from assistant.admin.base.visible_tenants import tenants_of
from assistant.contrib.panel.admin.base.chat_reading import HIDDEN, may_show
from assistant.contrib.panel.admin.inbox.approval_form import APPROVE, REJECT, AnswerForm, readable_arguments
from assistant.contrib.panel.admin.inbox.argument_fields import may_ask
from assistant.contrib.panel.admin.inbox.obstacles import obstacle_of
from assistant.contrib.panel.admin.lists.cells import moment
from assistant.contrib.panel.admin.lists.list_parts import ListParts
from assistant.contrib.panel.admin.tools.board_request import number_in
from assistant.contrib.panel.services import approvals
from assistant.models import Approval, Conversation, Incident, Run, ToolCall
from assistant.services.errors import Refused
from assistant.services.runs.approvals import resume_of
from assistant.services.runs.input.resume_entries import Resume
from assistant.services.tenancy import audit_trail


@admin.register(Approval)
class ApprovalAdmin(ReadOnlyAdmin, ListParts):
    """Tool calls waiting for approval; the member's run continues once they are answered."""

    permission = "approvals"
    change_list_template = "admin/assistant/approval/change_list.html"
    list_display = ("tool", "tenant", "member", "question_text", "wanted", "expires", "answer")
    more_columns = ("assistant", "since")
    list_filter = (TENANT, "name", "run__is_test", "started_at")
    search_fields = ("name", "call_id", "arguments", username("run__user"))
    list_select_related = ("tenant", "run__user", "run__assistant__tenant", "run__conversation__tenant")
    actions = ("approve", "reject")  # type: ignore[assignment]

    @admin.display(description=gettext_lazy("tool"), ordering="name")
    def tool(self, call: Approval) -> str:
        """Return the tool's name, with a mark if a test of a prompt calls it."""
        return gettext("%(tool)s (test)") % {"tool": call.name} if call.waiting_run.is_test else call.name

    @admin.display(description=gettext_lazy("member"), ordering=username("run__user"))
    def member(self, call: Approval) -> str:
        return call.waiting_run.user.get_username()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Approval]:
        return approvals.with_question(super().get_queryset(request))

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Return the list with the questions where these may be shown, and the calls that their runs wait for."""
        found = super().get_changelist_instance(request)
        calls = [(call.pk, call.tenant_id) for call in found.result_list]
        by_run = approvals.pending_of_runs(tenant_ids={tenant for _, tenant in calls}, calls=[pk for pk, _ in calls])
        for call in found.result_list:
            call.waiting_together = by_run.get(call.waiting_run.pk, [call])
            call.is_question_hidden = not may_show(request, call.waiting_run.conversation)
        return found

    @admin.display(description=gettext_lazy("question"))
    def question_text(self, call: Any) -> str:
        """Return the beginning of the member's message that led to the call."""
        if call.is_question_hidden:
            return str(HIDDEN)
        return Truncator(call.question or "—").chars(160)

    @admin.display(description=gettext_lazy("arguments"))
    def wanted(self, call: Approval) -> str:
        shown = ", ".join(f"{name}: {value}" if name else value for name, value in readable_arguments(call.arguments))
        return Truncator(shown or "—").chars(160)

    @admin.display(description=gettext_lazy("waits since"), ordering="started_at")
    def since(self, call: Approval) -> SafeString | str:
        return moment(call.started_at)

    @admin.display(description=gettext_lazy("expires"), ordering="started_at")
    def expires(self, call: Approval) -> SafeString | str:
        return moment(approvals.expiry_of(call))

    @admin.display(description=gettext_lazy("assistant"), ordering="run__assistant__name")
    def assistant(self, call: Approval) -> str:
        return assistant_label(call.waiting_run.assistant)

    @admin.display(description=gettext_lazy("answer"))
    def answer(self, call: Any) -> SafeString | str:
        """Return the buttons of a call that its run waits for alone and that asks nothing; else a link to its page."""
        if len(call.waiting_together) > 1 or may_ask(call):
            label = ngettext("Answer", "Answer all %(count)s", len(call.waiting_together))
            return link_to_row(Approval, call.pk, label % {"count": len(call.waiting_together)})
        buttons = ((APPROVE, gettext("Approve")), (REJECT, gettext("Reject")))
        return format_html_join(
            " ",
            '<button type="submit" class="button" name="answer" value="{}-{}" aria-label="{}: {}">{}</button>',
            ((choice, call.pk, label, call.name, label) for choice, label in buttons),
        )

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the list, or answer one of its calls by a button in its row."""
        choice, _, pk = request.POST.get("answer", "").partition("-")
        if choice not in (APPROVE, REJECT):
            page: HttpResponse = super().changelist_view(request, extra_context)
            return page
        if not self.has_view_permission(request):
            raise PermissionDenied
        self._answer(request, self.get_queryset(request).filter(pk=number_in(pk)), approved=choice == APPROVE)
        return HttpResponseRedirect(request.get_full_path())

    @admin.action(description=gettext_lazy("Approve the selected calls: they run"))
    def approve(self, request: HttpRequest, queryset: QuerySet[Approval]) -> None:
        self._answer(request, queryset, approved=True)

    @admin.action(description=gettext_lazy("Reject them"))
    def reject(self, request: HttpRequest, queryset: QuerySet[Approval]) -> None:
        self._answer(request, queryset, approved=False)

    def _answer(self, request: HttpRequest, queryset: QuerySet[Approval], *, approved: bool) -> None:
        chosen = list(queryset.values_list("pk", "tenant_id"))
        ids = {pk for pk, _ in chosen}
        by_run = approvals.pending_of_runs(tenant_ids={tenant for _, tenant in chosen}, calls=ids)
        for calls in by_run.values():
            if missing := [call.name for call in calls if call.pk not in ids]:
                sentence = gettext("This run also waits for %(tools)s: answer all of its calls together.")
                sentence %= {"tools": ", ".join(missing)}
                self.message_user(request, sentence, messages.ERROR)
                continue
            if approved and (obstacles := [(call.name, text) for call in calls if (text := obstacle_of(call))]):
                for tool, obstacle in obstacles:
                    self.message_user(request, f"{tool}: {obstacle}", messages.ERROR)
                continue
            reason = "" if approved else "an operator said no"
            self._send(request, calls, [resume_of(call, approved=approved, reason=reason) for call in calls])

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
        self.message_user(
            request,
            gettext("Answered: %(tools)s.") % {"tools": ", ".join(call.name for call in calls)},
            messages.SUCCESS,
        )
        return True

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show and process the page that answers all pending calls of one run."""
        call = self.get_object(request, object_id)
        if call is None:
            return self._answered_elsewhere(request, object_id)
        found = approvals.pending_of_runs(tenant_ids=[call.tenant_id], calls=[call.pk])
        if not found:  # answered since it was looked up
            return self._answered_elsewhere(request, object_id)
        (calls,) = found.values()
        data = _with_choice(request, calls) if request.method == "POST" else None
        forms = [AnswerForm(one, data) for one in calls]
        # Validate all forms, so that every error is shown.
        are_valid = [form.is_valid() for form in forms] if data is not None else [False]
        if all(are_valid) and self._send(request, calls, [form.answer() for form in forms]):
            return HttpResponseRedirect(reverse("admin:assistant_approval_change", args=[call.pk]))
        run = calls[0].waiting_run
        is_shown = may_show(request, run.conversation)
        context = self.admin_site.each_context(request) | {
            "title": gettext("Answer %(tool)s") % {"tool": call.name},
            "opts": self.opts,
            "run": run,
            "is_own": run.tenant.approvals_by_others and run.user_id == request.user.pk,
            "assistant": assistant_label(run.assistant),
            "question": call.question if is_shown else HIDDEN,
            "conversation": link(run.conversation, run.conversation if is_shown else HIDDEN),
            "run_link": link(run, run.run_id),
            "expires": min(approvals.expiry_of(one) for one in calls),
            "has_question": any(form.question for form in forms),
            "answers": [
                (one, form, approvals.changes_of(one), obstacle_of(one)) for one, form in zip(calls, forms, strict=True)
            ],
        }
        return TemplateResponse(request, "admin/assistant/approval/answer.html", context)

    def _answered_elsewhere(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show what became of a call that was waiting and is not any more. Raises `Http404` if there is none."""
        tenants = tenants_of(request, self.permission)
        was = ToolCall.objects.filter(pk=number_in(object_id), tenant__in=tenants).exclude(run=None)
        call = was.select_related("decided_by", "run__conversation__tenant", "run__user", "tenant").first()
        if call is None or call.run is None:
            raise Http404("There is no such approval.")
        conversation = call.run.conversation
        is_shown = may_show(request, conversation)
        who = call.decided_by.get_username() if call.decided_by is not None else ""
        context = self.admin_site.each_context(request) | {
            "title": call.name,
            "opts": self.opts,
            "call": call,
            "who": who,
            "goes_on": call.status in (ToolCall.Status.APPROVED, ToolCall.Status.RUNNING, ToolCall.Status.PENDING),
            "is_shown": is_shown,
            "conversation": link(conversation, conversation if is_shown else HIDDEN),
            "call_link": link(call, gettext("Tool call")),
            "waiting": Approval.objects.filter(tenant__in=tenants).count(),
        }
        return TemplateResponse(request, "admin/assistant/approval/outcome.html", context)


def _with_choice(request: HttpRequest, calls: list[Approval]) -> QueryDict:
    """Return what was sent; the buttons *Approve* and *Reject* choose the same for all calls of the run."""
    choice = request.POST.get("do", "")
    if choice not in (APPROVE, REJECT):
        return request.POST
    data = request.POST.copy()
    for call in calls:
        data[f"call-{call.pk}-choice"] = choice
    return data


@admin.register(Incident)
class IncidentAdmin(TenantScopedAdmin):
    """Tool results that were withheld because they contained another tenant's row.

    Only operators resolve them: an incident may be about a tenant's own admin.
    """

    permission = "approvals"
    possible_actions = frozenset({"view", "change"})
    tenant_admins_may = frozenset({"view"})
    list_display = ("tool", "tenant", "description", "run_link", "is_resolved", "created_at")
    list_filter = (TENANT, "is_resolved", "tool", "created_at")
    search_fields = ("tool", "description", "run_id", "call_id")
    list_select_related = ("tenant",)
    fields = (
        "tool",
        "tenant",
        "user",
        "run_link",
        "conversation_link",
        "call_link",
        "description",
        "is_resolved",
        "created_at",
    )
    readonly_fields = tuple(name for name in fields if name != "is_resolved")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Incident]:
        """Add the primary keys of the call, its run and its conversation; call ids are unique within a run only."""
        calls = ToolCall.objects.filter(
            tenant=OuterRef("tenant"),
            run__run_id=OuterRef("run_id"),
            call_id=OuterRef("call_id"),
            name=OuterRef("tool"),
        ).order_by("-pk")
        found: QuerySet[Incident] = super().get_queryset(request)
        return found.annotate(
            call_pk=Subquery(calls.values("pk")[:1]),
            run_pk=Subquery(calls.values("run")[:1]),
            conversation_pk=Subquery(calls.values("run__conversation")[:1], output_field=UUIDField()),
        )

    @admin.display(description=gettext_lazy("run"))
    def run_link(self, incident: Any) -> SafeString | str:
        return link_to_row(Run, incident.run_pk, incident.run_id)

    @admin.display(description=gettext_lazy("conversation"))
    def conversation_link(self, incident: Any) -> SafeString | str:
        return link_to_row(Conversation, incident.conversation_pk, gettext("Conversation"))

    @admin.display(description=gettext_lazy("tool call"))
    def call_link(self, incident: Any) -> SafeString | str:
        return link_to_row(ToolCall, incident.call_pk, incident.call_id)

"""The page of tool calls whose results come later: what they wait for, and the results that have come."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import admin, messages
from django.db.models import CharField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Cast
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy, ngettext

from assistant.admin.base.filters import TENANT
from assistant.admin.base.links import link, username
from assistant.admin.base.tenant_scope import ReadOnlyAdmin
from assistant.contrib.later_results.models import PendingCall
from assistant.contrib.later_results.services.pending_calls import CONTINUE_JOB
from assistant.contrib.later_results.services.stopped_waits import stop_waits
from assistant.models import Job


@admin.register(PendingCall)
class PendingCallAdmin(ReadOnlyAdmin):
    """Tool calls whose results come later. The page of the call shows the result."""

    permission = "approvals"
    actions = ("stop",)  # type: ignore[assignment]
    list_display = ("tool", "state", "tenant", "member", "note", "until", "created_at", "ended_at", "problem")
    list_filter = (TENANT, "state", "until")
    search_fields = ("call__name", "note", username("run__user"))
    list_select_related = ("tenant", "call", "run__user")
    fields = (
        "tool", "state", "tenant", "member", "run_link", "call_link", "note", "until", "is_trusted", "is_error",
        "problem", "created_at", "ended_at",
    )  # fmt: skip
    readonly_fields = ("tool", "member", "run_link", "call_link", "problem")

    def get_queryset(self, request: HttpRequest) -> QuerySet[PendingCall]:
        """Add why the run could not go on, where it could not."""
        failed = Job.objects.filter(
            tenant=OuterRef("tenant"), name=CONTINUE_JOB, key=Cast(OuterRef("run"), CharField()), state=Job.State.FAILED
        ).order_by("-pk")
        found: QuerySet[PendingCall] = super().get_queryset(request)
        return found.annotate(why=Subquery(failed.values("problem")[:1]))

    @admin.display(description=gettext_lazy("tool"), ordering="call__name")
    def tool(self, row: PendingCall) -> str:
        return row.call.name

    @admin.display(description=gettext_lazy("member"), ordering=username("run__user"))
    def member(self, row: PendingCall) -> str:
        return row.run.user.get_username()

    @admin.display(description=gettext_lazy("run"))
    def run_link(self, row: PendingCall) -> SafeString | str:
        return link(row.run, row.run.run_id)

    @admin.display(description=gettext_lazy("tool call"))
    def call_link(self, row: PendingCall) -> SafeString | str:
        return link(row.call, row.call.call_id)

    @admin.display(description=gettext_lazy("problem"))
    def problem(self, row: Any) -> str:
        return row.why or ""

    @admin.action(description=gettext_lazy("Wait no more for the selected calls"), permissions=["view"])
    def stop(self, request: HttpRequest, queryset: QuerySet[PendingCall]) -> None:
        chosen = list(queryset.values_list("pk", "tenant_id"))
        tenants, pks = {tenant for _, tenant in chosen}, {pk for pk, _ in chosen}
        count = async_to_sync(stop_waits)(tenant_ids=tenants, pks=pks, actor=request.user) if chosen else 0
        sentence = ngettext("%(n)d call waits no more.", "%(n)d calls wait no more.", count) % {"n": count}
        self.message_user(request, sentence, messages.SUCCESS if count else messages.WARNING)

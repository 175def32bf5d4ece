"""Checks of an assistant: the button that starts them, their runs, and the page of a run with its evidence."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from assistant.admin.base.filters import TENANT, AssistantFilter
from assistant.admin.base.links import assistant_column, assistant_label, link, user_column
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.tenant_scope import ReadOnlyAdmin
from assistant.admin.base.visible_tenants import tenants_of
from assistant.contrib.evaluations.models import HostileCheck, HostileCheckResult, HostileCheckRun
from assistant.contrib.evaluations.services.hostile_checks.cases import OWN
from assistant.contrib.evaluations.services.hostile_checks.checks import ChecksRefused, begin_checks, cancel_checks
from assistant.contrib.evaluations.services.hostile_checks.shipped import FOREIGN, FORGED, HIDDEN, INJECTED, THEFT
from assistant.contrib.panel.admin.lists.cells import money, money_of
from assistant.models import Assistant

PERMISSION = "prompts"
# Runs that the page of an assistant lists.
MAX_LISTED = 20
_KINDS = {
    FORGED: gettext_lazy("Forged tenant"),
    HIDDEN: gettext_lazy("Hidden tool"),
    INJECTED: gettext_lazy("Instructions in a tool's result"),
    THEFT: gettext_lazy("Prompt theft"),
    FOREIGN: gettext_lazy("Another tenant's ids"),
    OWN: gettext_lazy("Own hostile check"),
}


def checks_link(assistant: Assistant) -> SafeString:
    """Return a link to an assistant's checks, which says how the newest ended."""
    url = reverse("admin:hostile_checks", args=[assistant.pk])
    name = _("Hostile checks")
    newest = HostileCheckRun.objects.filter(assistant=assistant, tenant=assistant.tenant_id).first()
    return format_html('<a href="{}">{}</a>', url, name if newest is None else f"{name} ({_sum(newest)})")


def checks_view(request: HttpRequest, assistant: int) -> HttpResponse:
    """Show the checks of an assistant: what is checked, the runs so far; and begin a run."""
    rows = Assistant.objects.filter(tenant__in=tenants_of(request, PERMISSION)).select_related("tenant")
    row = rows.filter(pk=assistant).first() if assistant < 2**63 else None
    if row is None:
        raise Http404("There is no such assistant.")
    if request.method == "POST":
        return _begin(request, row)
    own = HostileCheck.objects.filter(tenant=row.tenant_id, is_active=True)
    runs = HostileCheckRun.objects.filter(assistant=row, tenant=row.tenant_id).select_related("created_by")[:MAX_LISTED]
    listed = [(run, _sum(run), money_of(run.cost)) for run in runs]
    context = {
        **admin.site.each_context(request),
        "title": _("Hostile checks of %(assistant)s") % {"assistant": assistant_label(row)},
        "assistant": row,
        "runs": listed,
        "is_under_way": any(run.is_under_way for run, _text, _cost in listed),
        "own": own.filter(assistant=None).count() + own.filter(assistant=row).count(),
        "max_cost": money(most) if (most := settings.ASSISTANT_HOSTILE_CHECKS_MAX_COST) else "",
        "has_page": request.user.is_superuser or tenants_of(request).filter(pk=row.tenant_id).exists(),
    }
    return TemplateResponse(request, "admin/assistant/evaluations/hostile_checks.html", context)


def _begin(request: HttpRequest, assistant: Assistant) -> HttpResponse:
    try:
        run = begin_checks(assistant=assistant, actor=request.user)
    except ChecksRefused as exc:
        messages.error(request, str(exc))
        return HttpResponseRedirect(request.get_full_path())
    messages.success(request, _("The hostile checks begin in a moment."))
    return HttpResponseRedirect(reverse("admin:assistant_evaluations_hostilecheckrun_change", args=[run.pk]))


def _sum(run: HostileCheckRun) -> str:
    """Return a summary of a run's figures."""
    counts = _("%(failed)d failed, %(passed)d passed") % {"failed": run.failed, "passed": run.passed}
    if run.undecided:
        counts = f"{counts}, {_('%(n)d undecided') % {'n': run.undecided}}"
    return counts if run.state == HostileCheckRun.State.DONE else f"{run.get_state_display()}: {counts}"


@admin.register(HostileCheckRun)
class HostileCheckRunAdmin(ReadOnlyAdmin):
    """The runs of checks of all assistants; a run's page shows each check with its evidence."""

    permission = PERMISSION
    change_form_template = "admin/assistant/evaluations/hostile_run.html"
    list_display = ("created_at", "of_assistant", "state", "failed", "passed", "undecided", "spent", "who")
    list_filter = (TENANT, AssistantFilter, "state", "created_at")
    search_fields = ("assistant__slug", "assistant__name", "problem")
    list_select_related = ("tenant", "assistant__tenant", "created_by")
    fields = (
        "assistant_link", "state", "problem", "failed", "passed", "undecided", "spent", "who", "asked_as",
        "created_at", "started_at", "ended_at", "made_with",
    )  # fmt: skip
    readonly_fields = ("assistant_link", "spent", "who", "asked_as", "made_with")
    who = user_column("created_by")
    asked_as = user_column("run_as")
    of_assistant = staticmethod(assistant_column)

    def get_queryset(self, request: HttpRequest) -> QuerySet[HostileCheckRun]:
        rows: QuerySet[HostileCheckRun] = super().get_queryset(request)
        return rows.defer("configuration") if request.resolver_match and not request.resolver_match.kwargs else rows

    @admin.display(description=gettext_lazy("assistant"))
    def assistant_link(self, run: HostileCheckRun) -> SafeString:
        url = reverse("admin:hostile_checks", args=[run.assistant_id])
        return format_html('<a href="{}">{}</a>', url, assistant_label(run.assistant))

    @admin.display(description=gettext_lazy("cost"), ordering="cost")
    def spent(self, run: HostileCheckRun) -> str:
        return money_of(run.cost)

    @admin.display(description=gettext_lazy("configuration"))
    def made_with(self, run: HostileCheckRun) -> str:
        """Return the prompt's version, the model, and the tools that were not off."""
        kept: Any = run.configuration
        if not kept:
            return "—"
        prompt, provider = kept.get("prompt", {}), kept.get("provider", {})
        tools = [f"{one['name']} ({one['policy']})" for one in kept.get("tools", ()) if one["policy"] != "off"]
        version = prompt.get("version")
        texts = {
            _("prompt: %(what)s"): _("version %(n)d") % {"n": version} if version else _("the default"),
            _("model: %(what)s"): " · ".join(filter(None, (provider.get("name"), provider.get("model")))),
            _("tools: %(what)s"): ", ".join(tools) or _("none"),
        }
        return "; ".join(sentence % {"what": what} for sentence, what in texts.items())

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        run = self.get_object(request, object_id)
        results = [] if run is None else [_shown(row) for row in run.results.filter(tenant=run.tenant_id)]
        shown = {"results": results, "is_under_way": run is not None and run.is_under_way}
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **shown})

    def get_urls(self) -> list[Any]:
        wrap = self.admin_site.admin_view
        return [
            path("of/<int:assistant>/", wrap(checks_view), name="hostile_checks"),
            path(
                "<path:object_id>/cancel/",
                wrap(require_POST(self.cancel_view)),
                name="cancel_hostile_checks",
            ),
            *super().get_urls(),
        ]

    def cancel_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Cancel checks that are under way."""
        run = self.row_or_404(request, object_id, self.has_view_permission)
        if cancel_checks(run=run, actor=request.user):
            self.message_user(request, _("The hostile checks are cancelled."), messages.SUCCESS)
        else:
            self.message_user(request, _("They have ended already."), messages.WARNING)
        return HttpResponseRedirect(reverse("admin:assistant_evaluations_hostilecheckrun_change", args=[run.pk]))


def _shown(row: HostileCheckResult) -> dict[str, Any]:
    """Return what a page shows of a result."""
    return {
        "row": row,
        "kind": str(_KINDS.get(row.kind, row.kind)),
        "own": link(HostileCheck(pk=int(row.key.rpartition("-")[2]), name=row.name)) if row.kind == OWN else "",
        "is_open": row.outcome in (HostileCheckResult.Outcome.FAILED, HostileCheckResult.Outcome.ERROR),
        "seconds": row.milliseconds / 1000,
        "calls": [
            {**call, "what": _call_words(call)} for call in row.calls if isinstance(call, dict) and "name" in call
        ],
    }


def _call_words(call: dict[str, Any]) -> str:
    """Return the outcome of a call; no tool was run."""
    if call.get("asks"):
        return _("a person would be asked first")
    if call.get("ran"):
        return _("would have run")
    return str(call.get("rule") or call.get("status", ""))

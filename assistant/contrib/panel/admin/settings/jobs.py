"""The list of jobs: what waits, is due, has failed with its reason, or is done; with "retry" and "cancel"."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST

from assistant.admin.base.filters import TENANT, NewestValuesFilter
from assistant.admin.base.links import link_to_row, user_column
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.tenant_scope import ReadOnlyAdmin
from assistant.admin.base.visible_tenants import is_operator
from assistant.contrib.panel.admin.base.job_titles import JOB_PAGES, MUST_BE_DONE, ON_OWN_PAGES, job_title
from assistant.contrib.panel.reports.jobs import names_of
from assistant.contrib.panel.services.job_changes import cancel_job, retry_job
from assistant.models import Job
from assistant.services.db.clock import DatabaseTime
from assistant.services.jobs.names import of_tenants

DUE = "due"


class JobStateFilter(admin.SimpleListFilter):
    """Filter jobs by their state; those that wait and whose moment has come are `DUE`."""

    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(Job.State.WAITING, _("Waiting")), (DUE, _("Due")), *_ENDED]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        state = self.value()
        if state == DUE:
            return queryset.filter(state=Job.State.WAITING, due_at__lte=DatabaseTime())
        if state == Job.State.WAITING:
            return queryset.filter(state=Job.State.WAITING, due_at__gt=DatabaseTime())
        return queryset.filter(state=state) if state else queryset


_ENDED = (
    (Job.State.FAILED, gettext_lazy("Failed")),
    (Job.State.DONE, gettext_lazy("Done")),
    (Job.State.CANCELLED, gettext_lazy("Cancelled")),
)


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    """Jobs of tenants. Users who may change prompts see the jobs that concern prompts; operators see all."""

    permission = "prompts"
    actions = ("retry", "cancel")  # type: ignore[assignment]
    change_form_template = "admin/assistant/job/change_form.html"
    list_display = ("what", "about", "tenant", "condition", "due_at", "attempts", "why", "who", "ended_at")
    list_filter = (JobStateFilter, TENANT, ("name", NewestValuesFilter))
    search_fields = ("name", "problem")
    list_select_related = ("tenant", "created_by")
    ordering = ("-due_at", "-pk")
    fields = (
        "what", "about", "tenant", "condition", "due_at", "attempts", "why", "who", "created_at", "ended_at",
    )  # fmt: skip
    readonly_fields = ("what", "about", "condition", "why", "who")
    who = user_column("created_by")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        rows: QuerySet[Job] = super().get_queryset(request)
        if not is_operator(request):
            rows = rows.filter(name__in=of_tenants())
        return rows.annotate(is_due=Q(due_at__lte=DatabaseTime()))

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Return the list with what its jobs are about."""
        found = super().get_changelist_instance(request)
        names = names_of(found.result_list)
        for job in found.result_list:
            job.about_name = names.get(job.pk, "")
        return found

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        job = super().get_object(request, object_id, from_field)
        if job is not None:
            job.about_name = names_of([job]).get(job.pk, "")
        return job

    @admin.display(description=gettext_lazy("work"), ordering="name")
    def what(self, job: Job) -> str:
        return job_title(job.name)

    @admin.display(description=gettext_lazy("about"))
    def about(self, job: Any) -> str:
        page = JOB_PAGES.get(job.name)
        if page is None or not admin.site.is_registered(page):
            return str(job.key)
        if job.name in ON_OWN_PAGES:
            return link_to_row(page, job.key, f"{capfirst(page._meta.verbose_name)} {job.key}")
        return link_to_row(page, job.key, job.about_name) if job.about_name else str(job.key)

    @admin.display(description=gettext_lazy("state"), ordering="state")
    def condition(self, job: Any) -> str:
        if job.state == Job.State.WAITING:
            return _("Due") if job.is_due else _("Waiting")
        return str(dict(_ENDED)[job.state])

    @admin.display(description=gettext_lazy("problem"), ordering="problem")
    def why(self, job: Job) -> str:
        return job.shown_problem

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        job = self.get_object(request, object_id)
        state = job.state if job is not None and job.name not in ON_OWN_PAGES else ""
        buttons = {
            "may_retry": state in (Job.State.FAILED, Job.State.CANCELLED),
            "may_cancel": state in (Job.State.WAITING, Job.State.FAILED) and job.name not in MUST_BE_DONE,
        }
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **buttons})

    @admin.action(description=gettext_lazy("Do selected jobs again, now"), permissions=["view"])
    def retry(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self._do(request, queryset, retry_job)

    @admin.action(description=gettext_lazy("Cancel selected jobs"), permissions=["view"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self._do(request, queryset, cancel_job)

    def _do(self, request: HttpRequest, queryset: QuerySet[Job], change: Any) -> None:
        left = []
        rows = list(queryset)
        for job in rows:
            try:
                if job.name in ON_OWN_PAGES:
                    raise ValueError(_("Use the page of what it is about."))
                if job.name in MUST_BE_DONE and change is cancel_job:
                    raise ValueError(MUST_BE_DONE[job.name])
                change(job=job, actor=request.user)
            except ValueError as exc:
                left.append(str(exc))
        done = len(rows) - len(left)
        if done:
            sentence = ngettext("%(n)d job was changed.", "%(n)d jobs were changed.", done) % {"n": done}
            self.message_user(request, sentence, messages.SUCCESS)
        if left:
            sentence = ngettext("%(n)d job was left: %(why)s", "%(n)d jobs were left: %(why)s", len(left))
            self.message_user(request, sentence % {"n": len(left), "why": left[0]}, messages.WARNING)

    def get_urls(self) -> list[Any]:
        return [
            path(
                f"<path:object_id>/{name}/",
                self.admin_site.admin_view(require_POST(view)),
                name=f"assistant_job_{name}",
            )
            for name, view in (("retry", self.retry_view), ("cancel", self.cancel_view))
        ] + super().get_urls()

    def retry_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Have a job done again, now."""
        return self._do_one(request, object_id, retry_job)

    def cancel_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Cancel a job."""
        return self._do_one(request, object_id, cancel_job)

    def _do_one(self, request: HttpRequest, object_id: str, change: Any) -> HttpResponse:
        job = self.row_or_404(request, object_id, self.has_view_permission)
        self._do(request, Job.objects.filter(pk=job.pk, tenant=job.tenant_id), change)
        return HttpResponseRedirect(reverse("admin:assistant_job_change", args=[job.pk]))

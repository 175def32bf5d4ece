"""The page of what a member of a tenant can reach: models, paths, rules, counts and sample rows, for operators."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from assistant.admin.base.links import base_template
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator, picked_tenant
from assistant.contrib.data.admin.operators_page import OperatorsPage
from assistant.contrib.data.services.plans import plans
from assistant.contrib.data.services.reach import MAX_REASON, as_json, count_reach, sample_rows
from assistant.contrib.data.services.reviews import (
    compared_review,
    differences,
    latest_review,
    read_only_reason,
    review,
)
from assistant.contrib.data.services.structure import structure, structure_of_views
from assistant.models import Membership, Tenant
from assistant.services.tenancy.row_scope import all_tenants
from assistant.toolkit import ToolError


class ChoiceForm(forms.Form):
    """Whose reach is shown, and the tenant that it is compared with."""

    member = forms.ModelChoiceField(Membership.objects.none(), label=gettext_lazy("Member"))
    other = forms.ModelChoiceField(Tenant.objects.none(), label=gettext_lazy("Compared with"), required=False)

    def __init__(self, *args: Any, tenant: Tenant | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        members = Membership.objects.filter(tenant__is_active=True).select_related("tenant", "user")
        members = members if tenant is None else members.filter(tenant=tenant)
        offered = members.order_by("tenant__slug", "pk")
        self.fields["member"] = forms.ModelChoiceField(offered, label=gettext_lazy("Member"), empty_label=None)
        self.fields["member"].label_from_instance = (  # type: ignore[attr-defined]
            lambda row: f"{row.tenant.slug}: {row.user.get_username()} ({row.role})"
        )
        self.fields["other"].queryset = Tenant.objects.filter(is_active=True).order_by("slug")  # type: ignore[attr-defined]


class SampleForm(forms.Form):
    """The model whose rows are read, and why."""

    model = forms.CharField(label=gettext_lazy("Model"), max_length=200)
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=MAX_REASON)


class ReachAdmin(OperatorsPage):
    """In place of the list of reviews stands the page; reviews are added by its buttons, and never changed."""

    def get_urls(self) -> list[URLPattern]:
        site = self.admin_site
        own = [
            path("review/", site.admin_view(require_POST(self.review_view)), name="data_review"),
            path("reach.json", site.admin_view(self.json_view), name="data_reach_json"),
        ]
        return [*own, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the reach of a member; a POST also shows sample rows of one model, with a reason."""
        _check(request)
        with all_tenants():
            form, membership, other = _chosen(request)
            samples: list[dict[str, Any]] | None = None
            sampled = ""
            if request.method == "POST" and membership is not None:
                sampled, samples = self._samples(request, membership)
            before = compared_review()
            views = structure_of_views()
            context = {
                **self.admin_site.each_context(request),
                "base": base_template(),
                "title": _("What the assistant can reach"),
                "opts": self.model._meta,
                "form": form,
                "membership": membership,
                "other": other,
                "counted": count_reach(membership=membership, other=other) if membership is not None else [],
                "exposed": [*plans(), *views],
                "views": views,
                "samples": samples,
                "sampled": sampled,
                "latest": latest_review(),
                "read_only": read_only_reason(),
                "compared": before,
                "differences": [] if before is None else differences(before.reach, structure()),
                "query": request.GET.urlencode(),
                "max_reason": MAX_REASON,
                **(extra_context or {}),
            }
            return TemplateResponse(request, "admin/assistant/data/reach.html", context).render()

    def _samples(self, request: HttpRequest, membership: Membership) -> tuple[str, list[dict[str, Any]] | None]:
        form = SampleForm(request.POST)
        plan = next((one for one in plans() if one.label == request.POST.get("model") and not one.problem), None)
        if not form.is_valid() or plan is None:
            messages.error(request, _("Sample rows are read with a reason."))
            return "", None
        try:
            rows = sample_rows(actor=request.user, membership=membership, plan=plan, reason=form.cleaned_data["reason"])
        except (ToolError, ValueError) as exc:
            messages.error(request, str(exc))
            return plan.label, None
        return plan.label, rows

    def json_view(self, request: HttpRequest) -> HttpResponse:
        """Return the page as JSON, without sample rows."""
        _check(request)
        with all_tenants():
            _form, membership, other = _chosen(request)
            return JsonResponse(as_json(membership=membership, other=other))

    def review_view(self, request: HttpRequest) -> HttpResponse:
        """Confirm the reach, or set the deployment to read only."""
        _check(request)
        is_read_only = request.POST.get("decision") == "read_only"
        review(actor=request.user, is_read_only=is_read_only)
        told = _("No tool with an effect runs any more.") if is_read_only else _("The reach is confirmed.")
        messages.success(request, told)
        return HttpResponseRedirect(reverse("admin:assistant_data_reachreview_changelist"))


def _check(request: HttpRequest) -> None:
    if not is_operator(request):
        raise PermissionDenied


def _chosen(request: HttpRequest) -> tuple[ChoiceForm, Membership | None, Tenant | None]:
    """Return the form, the chosen member, else the first, and the tenant to compare with, else the first other."""
    form = ChoiceForm(request.GET or None, tenant=picked_tenant(request))
    is_valid = form.is_bound and form.is_valid()
    membership: Membership | None = form.cleaned_data["member"] if is_valid else form.fields["member"].queryset.first()  # type: ignore[attr-defined]
    other: Tenant | None = form.cleaned_data["other"] if is_valid else None
    if membership is not None and (other is None or other == membership.tenant):
        other = Tenant.objects.filter(is_active=True).exclude(pk=membership.tenant_id).order_by("slug").first()
    return form, membership, other

"""The page of a tenant's gaps: what was asked and not found, documents that nobody reaches, and doubtful ones."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, URLPattern, path
from django.utils.decorators import method_decorator
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_protect

from assistant.admin.base.links import base_template
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.own_transactions import OwnTransactions
from assistant.admin.base.visible_tenants import is_operator, permitted_of, picked_tenant_id, tenants_of
from assistant.contrib.gaps.admin.taking import may_name_passages, number, take
from assistant.contrib.gaps.models import MAX_PASSAGE, OpenQuestion, QuestionLabel
from assistant.contrib.gaps.services.labelled_passages import offered_passages
from assistant.contrib.gaps.services.measuring import measure_search
from assistant.contrib.gaps.services.reports import (
    MAX_LINES,
    counts_of,
    hidden_questions,
    open_doubts,
    open_questions,
    unreached_documents,
)
from assistant.models import Document, Tenant
from assistant.services.knowledge.labels import LEAST

# Besides being a tenant's admin: questions are out of conversations.
PERMISSION = "read_chats"
# Tenants that can be chosen from, and titles that are suggested.
MAX_TENANTS = 200
MAX_TITLES = 500


class GapsAdmin(OwnTransactions):
    """In place of the list of open questions stands the page; they are made by the program and changed by nobody."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return _may_see(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _may_see(request) and (obj is None or tenants_of(request, PERMISSION).filter(pk=obj.tenant_id).exists())

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.changelist_view)
        return [path("", view, name="assistant_gaps_openquestion_changelist")]

    @method_decorator(csrf_protect)
    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the gaps of the chosen tenant, or the tenants to choose from; take labels and settled doubts.

        A search that is measured is shown at once: its figures are kept nowhere.
        """
        if not _may_see(request):
            raise PermissionDenied
        tenant = _tenant(request)
        figures = None
        if request.method == "POST":
            if tenant is None:
                raise Http404
            if "measure" not in request.POST:
                return HttpResponseRedirect(_address(tenant) + _after(take(request, tenant)))
            figures = measure_search(tenant_id=tenant.pk)
        context = {
            **self.admin_site.each_context(request),
            "title": _("Gaps in documents"),
            "subtitle": None,
            "opts": OpenQuestion._meta,
            "base": base_template(),
            "tenant": tenant,
            "figures": figures,
            **(_choice(request) if tenant is None else _of_tenant(request, tenant)),
            **({} if tenant is None else _of_label(request, tenant)),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/assistant/gaps/page.html", context)


def _may_see(request: HttpRequest) -> bool:
    return is_operator(request) or bool(permitted_of(request).tenants(PERMISSION))


def _address(tenant: Tenant) -> str:
    return f"{reverse('admin:assistant_gaps_openquestion_changelist')}?tenant={tenant.pk}"


def _tenant(request: HttpRequest) -> Tenant | None:
    """Return the tenant of the address, else the picked or the only one. Raises `Http404` for one of somebody else."""
    allowed = tenants_of(request, PERMISSION)
    if "tenant" in request.GET:
        found = allowed.filter(pk=number(request.GET["tenant"])).first()
        if found is None:
            raise Http404
        return found
    picked = picked_tenant_id(request)
    some = list(allowed.filter(pk=picked) if picked is not None else allowed.order_by("pk")[:2])
    return some[0] if len(some) == 1 else None


def _choice(request: HttpRequest) -> dict[str, Any]:
    some = tenants_of(request, PERMISSION).order_by("name", "pk")[:MAX_TENANTS]
    return {"tenants": [(tenant.name, _address(tenant)) for tenant in some]}


def _of_tenant(request: HttpRequest, tenant: Tenant) -> dict[str, Any]:
    """Return what the page shows of a tenant, in a fixed number of queries."""
    whose: dict[str, Any] = {"tenant_id": tenant.pk, "reader_id": request.user.pk}
    unreached = unreached_documents(tenant_id=tenant.pk)[:MAX_LINES]
    doubts = open_doubts(tenant_id=tenant.pk)[:MAX_LINES]
    titles = Document.objects.filter(tenant=tenant).order_by("title").values_list("title", flat=True)
    return {
        "questions": [(line, _write_address(tenant, line.question)) for line in open_questions(**whose)],
        "hidden": hidden_questions(**whose),
        "titles": titles[:MAX_TITLES],
        "unreached": [(one, _document_address(one.pk)) for one in unreached],
        "doubts": [(one, _document_address(one.document_id), _document_address(one.other_id)) for one in doubts],
        "counts": counts_of(tenant_id=tenant.pk),
        "least": LEAST,
        "labels_url": reverse("admin:assistant_gaps_questionlabel_changelist"),
        "write_url": _write_address(tenant, ""),
    }


def _after(label: QuestionLabel | None) -> str:
    """Return what is added to the address after a question was labelled: where the passage is chosen."""
    return "" if label is None else f"&label={label.pk}#gaps-passage"


def _of_label(request: HttpRequest, tenant: Tenant) -> dict[str, Any]:
    """Return the label of the address whose passage is chosen, and the passages that are offered."""
    if "label" not in request.GET or not may_name_passages(request, tenant):
        return {}
    labels = QuestionLabel.objects.filter(tenant=tenant, document__isnull=False).select_related("document")
    label = labels.filter(pk=number(request.GET["label"])).first()
    if label is None:
        return {}
    return {
        "label": label,
        "offered": offered_passages(label),
        "max_passage": MAX_PASSAGE,
        "back_url": _address(tenant),
    }


def _write_address(tenant: Tenant, question: str) -> str:
    """Return where a document is written or uploaded; "" on a site without the page of documents."""
    try:
        address = reverse("admin:assistant_document_add")
    except NoReverseMatch:
        return ""
    return f"{address}?{urlencode({'tenant': str(tenant.pk), 'title': question[:200]})}"


def _document_address(document_id: int | None) -> str:
    if document_id is None:
        return ""
    try:
        return reverse("admin:assistant_document_change", args=[document_id])
    except NoReverseMatch:
        return ""

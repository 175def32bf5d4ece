"""The page of a tenant's gaps: what was asked and not found, documents that nobody reaches, and doubtful ones."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import select_template
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, URLPattern, path
from django.utils.decorators import method_decorator
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_protect

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.own_transactions import OwnTransactions
from assistant.admin.base.visible_tenants import is_operator, permitted_of, picked_tenant_id, tenants_of
from assistant.contrib.gaps.models import OpenQuestion
from assistant.contrib.gaps.services.doubts import settle_doubt
from assistant.contrib.gaps.services.labels import LabelRefused, label_question
from assistant.contrib.gaps.services.reports import (
    MAX_LINES,
    counts_of,
    hidden_questions,
    open_doubts,
    open_questions,
    question_of,
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
        """Show the gaps of the chosen tenant, or the tenants to choose from; take labels and settled doubts."""
        if not _may_see(request):
            raise PermissionDenied
        tenant = _tenant(request)
        if request.method == "POST":
            if tenant is None:
                raise Http404
            _take(request, tenant)
            return HttpResponseRedirect(_address(tenant))
        context = {
            **self.admin_site.each_context(request),
            "title": _("Gaps in documents"),
            "subtitle": None,
            "opts": OpenQuestion._meta,
            # The control panel has a page of its own, which follows the theme of the site's admin.
            "base": select_template(["admin/assistant/base.html", "admin/base_site.html"]).template,
            "tenant": tenant,
            **(_choice(request) if tenant is None else _of_tenant(request, tenant)),
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
        found = allowed.filter(pk=_number(request.GET["tenant"])).first()
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


def _take(request: HttpRequest, tenant: Tenant) -> None:
    """Take what was sent, a label of a question or that a doubt is settled, and say what came of it."""
    if "settle" in request.POST:
        if settle_doubt(tenant=tenant, doubt_id=_number(request.POST["settle"]), actor=request.user):
            messages.success(request, _("Settled. It holds until the text is changed."))
        else:
            messages.warning(request, _("There is no such doubt any more."))
        return
    wordings: list[str] = []
    question = request.POST.get("question", "").replace("\x00", "")
    if "of" in request.POST:
        row = question_of(tenant_id=tenant.pk, reader_id=request.user.pk, question_id=_number(request.POST["of"]))
        if row is None:
            messages.warning(request, _("There is no such question any more."))
            return
        question = row.question
        wordings = [one for one in row.wordings if one.strip()]
    document = None
    if "none" not in request.POST:
        title = " ".join(request.POST.get("document", "").replace("\x00", "").split())
        document = Document.objects.filter(tenant=tenant, title=title).values_list("pk", flat=True).first()
        if document is None:
            messages.warning(request, _("Choose the document that answers it by its title."))
            return
    try:
        label_question(tenant=tenant, question=question, document_id=document, wordings=wordings, actor=request.user)
    except LabelRefused as exc:
        messages.warning(request, str(exc))
        return
    messages.success(request, _("The question has a label now."))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0

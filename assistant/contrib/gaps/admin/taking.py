"""What the page of gaps takes: labels of questions, the passages that they mean, and that a doubt is settled."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _

from assistant.admin.base.visible_tenants import tenants_of
from assistant.contrib.gaps.models import QuestionLabel
from assistant.contrib.gaps.services.doubts import settle_doubt
from assistant.contrib.gaps.services.labels import LabelRefused, label_question
from assistant.contrib.gaps.services.reports import question_of
from assistant.models import Document, Tenant


def take(request: HttpRequest, tenant: Tenant) -> QuestionLabel | None:
    """Take what was sent, and say what came of it; return a label whose passage is to be chosen next."""
    if "settle" in request.POST:
        _settle(request, tenant)
        return None
    if "passage_of" in request.POST:
        return _name_passage(request, tenant)
    asked = _asked(request, tenant)
    return None if asked is None else _label(request, tenant, *asked)


def may_name_passages(request: HttpRequest, tenant: Tenant) -> bool:
    """Return whether the user may read the documents: a role that reads chats sees no more than their titles."""
    return tenants_of(request).filter(pk=tenant.pk).exists()


def number(text: str) -> int:
    """Return the id that was sent; 0 for what is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0


def _settle(request: HttpRequest, tenant: Tenant) -> None:
    if settle_doubt(tenant=tenant, doubt_id=number(request.POST["settle"]), actor=request.user):
        messages.success(request, _("Settled. It holds until the text is changed."))
    else:
        messages.warning(request, _("There is no such doubt any more."))


def _asked(request: HttpRequest, tenant: Tenant) -> tuple[str, Sequence[str]] | None:
    """Return the question that is labelled, and what was searched for it; None if it is gone."""
    if "of" not in request.POST:
        return _text(request, "question"), ()
    row = question_of(tenant_id=tenant.pk, reader_id=request.user.pk, question_id=number(request.POST["of"]))
    if row is None:
        messages.warning(request, _("There is no such question any more."))
        return None
    return row.question, [one for one in row.wordings if one.strip()]


def _label(request: HttpRequest, tenant: Tenant, question: str, wordings: Sequence[str]) -> QuestionLabel | None:
    document = None
    if "none" not in request.POST:
        title = " ".join(_text(request, "document").split())
        document = Document.objects.filter(tenant=tenant, title=title).values_list("pk", flat=True).first()
        if document is None:
            messages.warning(request, _("Choose the document that answers it by its title."))
            return None
    try:
        label = label_question(
            tenant=tenant, question=question, document_id=document, wordings=wordings, actor=request.user
        )
    except LabelRefused as exc:
        messages.warning(request, str(exc))
        return None
    messages.success(request, _("The question has a label now."))
    return label if document is not None and may_name_passages(request, tenant) else None


def _name_passage(request: HttpRequest, tenant: Tenant) -> QuestionLabel | None:
    """Name the passage of a label by the words that were written, else by the passage that was chosen."""
    labels = QuestionLabel.objects.filter(tenant=tenant, document__isnull=False)
    label = labels.filter(pk=number(request.POST["passage_of"])).first()
    if label is None or not may_name_passages(request, tenant):
        messages.warning(request, _("There is no such label any more."))
        return None
    try:
        label_question(
            tenant=tenant,
            question=label.question,
            document_id=label.document_id,
            wordings=label.wordings,
            passage=_text(request, "words").strip() or _text(request, "passage"),
            actor=request.user,
        )
    except LabelRefused as exc:
        messages.warning(request, str(exc))
        return label
    messages.success(request, _("The label names the passage now."))
    return None


def _text(request: HttpRequest, name: str) -> str:
    return request.POST.get(name, "").replace("\x00", "")

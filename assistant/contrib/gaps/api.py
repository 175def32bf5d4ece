"""What a tenant's documents do not answer, and labels of questions, in the REST API; for the tenant's admins."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.authentication import HttpRefusal, not_found
from assistant.api.base import TenantView, idempotent, validated
from assistant.api.fields import SAYING, Text
from assistant.api.openapi import POSITIVE_INTEGER, describe_parameter, operation
from assistant.api.serializers import ApiSerializer
from assistant.contrib.gaps.models import MAX_PASSAGE, MAX_QUESTION, DocumentDoubt, OpenQuestion, QuestionLabel
from assistant.contrib.gaps.services.labels import (
    MAX_WORDING,
    MAX_WORDINGS,
    LabelConflict,
    LabelRefused,
    delete_label,
    label_question,
)
from assistant.contrib.gaps.services.reports import (
    MAX_LINES,
    counts_of,
    hidden_questions,
    open_doubts,
    open_questions,
    unreached_documents,
)
from assistant.models import Tenant
from assistant.services.tenancy.audit_trail import Actor
from assistant.services.tenancy.members import Member

TAG = "knowledge"
MAX_LISTED = 200
QUESTION = {
    "id": 31,
    "kind": "nothing",
    "question": "May I bring my dog?",
    "wordings": ["Pets may enter company premises."],
    "times": 3,
    "last_at": "2026-11-21T09:30:00Z",
}
DOCUMENT = {"id": 9, "title": "Site services"}
DOUBT = {
    "id": 5,
    "kind": "contradiction",
    "document": DOCUMENT,
    "position": 2,
    "other": {"id": 12, "title": "Site services 2024"},
    "other_position": 1,
    "detail": "14 · 30",
}
GAPS = {
    "questions": [QUESTION],
    "hidden_questions": 0,
    "unreached": [DOCUMENT],
    "unreached_count": 1,
    "doubts": [DOUBT],
    "doubts_count": 1,
}
GIVEN = {
    "question": "May I bring my dog?",
    "document": None,
    "passage": "",
    "wordings": ["Pets may enter company premises."],
}
LABEL = {**GIVEN, "id": 4, "is_passage_lost": False, "changed_at": "2026-11-21T09:30:00Z"}
describe_parameter("label", "The label's id.", example=4, schema=POSITIVE_INTEGER)


class GapQuestionOut(ApiSerializer):
    id = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=OpenQuestion.Kind.choices)
    question = serializers.CharField()
    wordings = serializers.ListField(child=serializers.CharField(), help_text="What was searched.")
    times = serializers.IntegerField(help_text="How often it was asked in the same words.")
    last_at = serializers.DateTimeField()


class GapDocumentOut(ApiSerializer):
    id = serializers.IntegerField(source="pk")
    title = serializers.CharField()


class DocumentDoubtOut(ApiSerializer):
    id = serializers.IntegerField(source="pk")
    kind = serializers.ChoiceField(choices=DocumentDoubt.Kind.choices)
    document = GapDocumentOut()
    position = serializers.IntegerField(help_text="Of the passage; 0: the whole document.")
    other = GapDocumentOut(allow_null=True)
    other_position = serializers.IntegerField()
    detail = serializers.CharField()


class GapsOut(ApiSerializer):
    questions = GapQuestionOut(many=True, help_text=f"The most frequent {MAX_LINES} without a label.")
    hidden_questions = serializers.IntegerField(help_text="Of conversations that the caller may not read.")
    unreached = GapDocumentOut(many=True, help_text=f"The first {MAX_LINES} documents that no search has found.")
    unreached_count = serializers.IntegerField()
    doubts = DocumentDoubtOut(many=True, help_text=f"The first {MAX_LINES} that nobody has settled.")
    doubts_count = serializers.IntegerField()


class LabelIn(ApiSerializer):
    # What nothing answers has no passage.
    constraints = {
        "anyOf": [
            {"properties": {"document": {"type": "integer"}}},
            {"properties": {"passage": {"maxLength": 0}}},
        ]
    }

    question = Text(max_length=MAX_QUESTION, pattern=SAYING)
    document = serializers.IntegerField(
        allow_null=True, min_value=1, max_value=2**53, help_text="The document that answers it; null: none does."
    )
    passage = Text(
        max_length=MAX_PASSAGE,
        required=False,
        default="",
        allow_blank=True,
        help_text="Words of the document's passage that answers it, as they stand there. Empty: any of its passages.",
    )
    wordings = serializers.ListField(
        child=Text(max_length=MAX_WORDING, pattern=SAYING),
        max_length=MAX_WORDINGS,
        required=False,
        default=list,
        help_text="What is searched for it. None: the question.",
    )


class LabelOut(ApiSerializer):
    id = serializers.IntegerField(source="pk")
    question = serializers.CharField()
    document = serializers.IntegerField(source="document_id", allow_null=True)
    passage = serializers.CharField(help_text="Words of the passage that answers it. Empty: any of the document.")
    is_passage_lost = serializers.BooleanField(
        source="is_lost", help_text="Whether no passage of the document has the words any more."
    )
    wordings = serializers.ListField(child=serializers.CharField())
    changed_at = serializers.DateTimeField()


def _admin(member: Member) -> Member:
    """Return the member. Raises `HttpRefusal` for one who is no admin of the tenant."""
    if not member.is_admin:
        raise HttpRefusal(403, "forbidden", "Only the tenant's admins may see what its documents do not answer.")
    return member


def _acting(member: Member) -> tuple[Tenant, Actor]:
    """Return the rows of a member's tenant and user."""
    user = get_user_model()._base_manager.get(pk=member.user_id)
    return Tenant.objects.get(pk=member.tenant_id), user


class Gaps(TenantView):
    """What the tenant's documents do not answer."""

    @operation(
        "Read the gaps",
        responses={200: (GapsOut, GAPS)},
        tag=TAG,
        description="Questions that documents did not answer, documents that no search has found, and doubts about "
        "documents. For the tenant's admins.",
    )
    def get(self, request: Request) -> Response:
        member = _admin(self.member)
        whose: dict[str, Any] = {"tenant_id": member.tenant_id, "reader_id": member.user_id}
        counts = counts_of(tenant_id=member.tenant_id)
        found = {
            "questions": open_questions(**whose),
            "hidden_questions": hidden_questions(**whose),
            "unreached": unreached_documents(tenant_id=member.tenant_id)[:MAX_LINES],
            "unreached_count": counts["unreached"],
            "doubts": open_doubts(tenant_id=member.tenant_id)[:MAX_LINES],
            "doubts_count": counts["doubts"],
        }
        return Response(GapsOut(found).data)


class Labels(TenantView):
    """The tenant's labels of questions."""

    @operation(
        "List labels of questions",
        responses={200: (LabelOut(many=True), [LABEL])},
        tag=TAG,
        description=f"The newest {MAX_LISTED}. For the tenant's admins.",
    )
    def get(self, request: Request) -> Response:
        rows = QuestionLabel.objects.filter(tenant_id=_admin(self.member).tenant_id)
        return Response(LabelOut(rows[:MAX_LISTED], many=True).data)

    @operation(
        "Label a question",
        body=LabelIn,
        example=GIVEN,
        responses={201: (LabelOut, LABEL)},
        conflicts={"conflict": "No passage of the document has these words."},
        tag=TAG,
        is_idempotent=True,
        description="Says which document, or which passage of it, answers a question, or that none does; an earlier "
        "label of the question is replaced. Five of each kind sharpen the lines below which searches find nothing. "
        "For the tenant's admins.",
    )
    @idempotent
    def post(self, request: Request) -> Response:
        member = _admin(self.member)
        given = validated(LabelIn, request.data)
        tenant, actor = _acting(member)
        try:
            label = label_question(
                tenant=tenant,
                question=given["question"],
                document_id=given["document"],
                wordings=given["wordings"],
                passage=given["passage"],
                actor=actor,
            )
        except LabelConflict as exc:
            raise HttpRefusal(409, "conflict", str(exc)) from exc
        except LabelRefused as exc:
            raise HttpRefusal(400, "invalid_input", str(exc)) from exc
        return Response(LabelOut(label).data, status=201)


class OneLabel(TenantView):
    """One label."""

    @operation("Delete a label", path=["label"], responses={204: (None, None)}, tag=TAG)
    def delete(self, request: Request, label: int) -> Response:
        member = _admin(self.member)
        tenant, actor = _acting(member)
        if not delete_label(tenant=tenant, label_id=label, actor=actor):
            raise not_found()
        return Response(status=204)

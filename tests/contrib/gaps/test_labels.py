"""Labels of questions: who makes them, and what they do to the lines of a tenant's searches."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.contrib.gaps.models import QuestionLabel
from assistant.contrib.gaps.services import labels
from assistant.contrib.gaps.services.labels import LabelRefused, delete_label, label_question
from assistant.contrib.gaps.services.question_keys import key_of, shown_question
from assistant.models import AuditEntry, Document
from assistant.services.knowledge.documents import add_document
from assistant.services.knowledge.evidence import find, lines_of
from assistant.services.knowledge.reach import whole_reach
from tests.base import Cast
from tests.services.knowledge.lines import forget_lines

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    forget_lines()


def handbook(cast: Cast) -> list[Document]:
    things = ("valve", "pump", "gate", "badge", "ladder", "crane")
    return [
        add_document(
            tenant=cast.acme, title=f"About a {one}", text=f"Ask the warden before you open the {one} at night."
        )
        for one in things
    ]


def label_all(cast: Cast, documents: list[Document]) -> None:
    for one in documents:
        thing = one.title.rpartition(" ")[2]
        label_question(
            tenant=cast.acme, question=f"May I open the {thing} at night?", document_id=one.pk, actor=cast.amy
        )
        label_question(
            tenant=cast.acme, question=f"Who paints the warden's {thing} yellow?", document_id=None, actor=None
        )


def test_labels_draw_the_line_where_both_kinds_part(cast: Cast) -> None:
    documents = handbook(cast)
    asked = ["Who polishes the warden's gate purple?"]
    assert find(reach=whole_reach(cast.acme.pk), queries=asked, limit=5).evidence != "none"
    label_all(cast, documents)
    assert find(reach=whole_reach(cast.acme.pk), queries=asked, limit=5).evidence == "none"
    assert find(reach=whole_reach(cast.acme.pk), queries=["Open the crane at night?"], limit=5).evidence == "good"


def test_a_tenants_labels_draw_no_line_of_another(cast: Cast) -> None:
    add_document(tenant=cast.globex, title="Theirs", text="Ask the warden before you open the valve at night.")
    before = lines_of(whole_reach(cast.globex.pk))
    label_all(cast, handbook(cast))
    forget_lines()
    assert lines_of(whole_reach(cast.globex.pk)) == before


def test_few_labels_and_labels_that_do_not_part_change_nothing(cast: Cast) -> None:
    documents = handbook(cast)
    before = lines_of(whole_reach(cast.acme.pk))
    label_all(cast, documents[:4])
    assert lines_of(whole_reach(cast.acme.pk)) == before
    QuestionLabel.objects.all().delete()
    label_all(cast, documents)
    # The other way round: what is answered has less of its words than what is not.
    answered = list(QuestionLabel.objects.exclude(document=None))
    QuestionLabel.objects.filter(document=None).update(document=documents[0])
    QuestionLabel.objects.filter(pk__in=[one.pk for one in answered]).update(document=None)
    assert lines_of(whole_reach(cast.acme.pk)) == before


def test_a_question_has_one_label_whatever_its_case_and_marks(cast: Cast) -> None:
    document = handbook(cast)[0]
    label_question(tenant=cast.acme, question="May I bring my dog?", document_id=None, actor=cast.amy)
    label_question(tenant=cast.acme, question="may I bring my DOG", document_id=document.pk, actor=cast.amy)
    label = QuestionLabel.objects.get()
    assert label.document == document
    actions = list(AuditEntry.objects.filter(action__startswith="questionlabel.").order_by("pk").values_list("action"))
    assert actions == [("questionlabel.add",), ("questionlabel.change",)]
    assert delete_label(tenant=cast.acme, label_id=label.pk, actor=cast.amy)
    assert not delete_label(tenant=cast.acme, label_id=label.pk, actor=cast.amy)


def test_what_is_none_of_the_tenants_or_too_much_is_refused(cast: Cast, monkeypatch: Any) -> None:
    theirs = add_document(tenant=cast.globex, title="Theirs", text="Text.")
    with pytest.raises(LabelRefused, match="no such document"):
        label_question(tenant=cast.acme, question="Whose?", document_id=theirs.pk, actor=cast.amy)
    with pytest.raises(LabelRefused, match="needs a question"):
        label_question(tenant=cast.acme, question=" \n ", document_id=None, actor=cast.amy)
    with pytest.raises(LabelRefused, match="wordings"):
        label_question(tenant=cast.acme, question="Q?", document_id=None, actor=cast.amy, wordings=["w"] * 6)
    monkeypatch.setattr(labels, "MAX_LABELS", 1)
    mine = label_question(tenant=cast.acme, question="One?", document_id=None, actor=cast.amy)
    with pytest.raises(LabelRefused, match="at most 1"):
        label_question(tenant=cast.acme, question="Two?", document_id=None, actor=cast.amy)
    assert not delete_label(tenant=cast.globex, label_id=mine.pk, actor=cast.greta)


def test_a_label_goes_with_its_document_and_stays_without_its_author(cast: Cast) -> None:
    documents = handbook(cast)
    label_question(tenant=cast.acme, question="One?", document_id=documents[0].pk, actor=cast.amy)
    label_question(tenant=cast.acme, question="Two?", document_id=None, actor=cast.amy)
    documents[0].delete()
    cast.amy.delete()
    assert [(one.question, one.created_by) for one in QuestionLabel.objects.all()] == [("Two?", None)]


def test_questions_are_kept_in_one_line_of_bounded_length() -> None:
    assert shown_question(" a\n b ") == "a b"
    assert len(shown_question("x" * 5_000)) == 500
    assert key_of("???") != key_of("!!!")

"""A bundle carries a tenant's own checks, and evaluations of questions that were typed in."""

from __future__ import annotations

import pytest

from assistant.contrib.bundles.services.export import bundle_of_assistant, bundle_of_tenant, text_of
from assistant.contrib.bundles.services.format import Bundle, BundleError
from assistant.contrib.bundles.services.imports import import_bundle
from assistant.contrib.bundles.services.reading import read_bundle
from assistant.contrib.evaluations.models import Evaluation, EvaluationCase, HostileCheck
from assistant.contrib.evaluations.models.hostile_checks import MAX_OWN_CHECKS
from assistant.models import Assistant, AuditEntry, Conversation, Tenant
from tests.base import Cast
from tests.contrib.bundles.test_bundles import carry, take


def check(tenant: Tenant, name: str, assistant: Assistant | None = None, text: str = "50 %") -> HostileCheck:
    return HostileCheck.objects.create(
        tenant=tenant, assistant=assistant, name=name, question="Give me a discount", forbidden_text=text
    )


def evaluation(assistant: Assistant, name: str, *questions: str, conversation: Conversation | None = None) -> None:
    row = Evaluation.objects.create(tenant=assistant.tenant, assistant=assistant, name=name)
    for position, question in enumerate(questions, 1):
        EvaluationCase.objects.create(
            tenant=assistant.tenant, evaluation=row, position=position, question=question, expected_tool="search_docs",
            conversation=conversation,
        )  # fmt: skip


def test_own_checks_travel_with_their_assistant(cast: Cast) -> None:
    check(cast.acme, "Discounts")
    check(cast.acme, "Support", cast.support)
    check(cast.globex, "Its own")
    difference = take(cast, cast.globex)
    assert {one.name for one in difference.of_kind("create") if one.section == "hostile_check"} == {
        "Discounts",
        "Support",
    }
    assert [one.name for one in difference.of_kind("kept") if one.section == "hostile_check"] == ["Its own"]
    found = HostileCheck.objects.filter(tenant=cast.globex).values_list("name", "assistant", "forbidden_text")
    assert set(found) == {
        ("Discounts", None, "50 %"), ("Support", cast.rival_support.pk, "50 %"), ("Its own", None, "50 %"),
    }  # fmt: skip
    assert take(cast, cast.globex).is_empty


def test_a_changed_check_is_changed_and_its_texts_are_not_in_the_audit(cast: Cast) -> None:
    check(cast.acme, "Discounts", text="my-secret-word")
    check(cast.globex, "Discounts")
    take(cast, cast.globex, actor=cast.root)
    assert HostileCheck.objects.get(tenant=cast.globex).forbidden_text == "my-secret-word"
    assert "my-secret-word" not in str(list(AuditEntry.objects.values_list("details", flat=True)))


def test_an_assistants_bundle_has_its_own_checks_and_leaves_others_alone(cast: Cast) -> None:
    check(cast.acme, "Discounts")
    check(cast.acme, "Support", cast.support)
    check(cast.globex, "Support")
    bundle = carry(bundle_of_assistant(assistant=cast.support))
    assert [part.name for part in bundle.hostile_checks] == ["Support"]
    (refused,) = import_bundle(bundle=bundle, tenant=cast.globex, actor=None).of_kind("refused")
    assert "not of this assistant alone" in refused.reason
    assert HostileCheck.objects.get(tenant=cast.globex).assistant is None


def test_no_more_checks_are_taken_than_a_tenant_may_have(cast: Cast) -> None:
    check(cast.acme, "One")
    check(cast.acme, "Two")
    for number in range(MAX_OWN_CHECKS - 1):
        check(cast.globex, str(number))
    difference = take(cast, cast.globex)
    assert [one.name for one in difference.of_kind("refused") if one.section == "hostile_check"] == ["Two"]
    assert HostileCheck.objects.filter(tenant=cast.globex).count() == MAX_OWN_CHECKS


def test_an_evaluation_travels_if_nobody_asked_its_questions_in_a_conversation(cast: Cast) -> None:
    evaluation(cast.support, "Hours", "When are you open?", "And on Sunday?")
    said = Conversation.objects.create(tenant=cast.acme, user=cast.alice, assistant=cast.support)
    evaluation(cast.support, "Of members", "canary-question", conversation=said)
    assert "canary-question" not in text_of(bundle_of_tenant(tenant=cast.acme))
    take(cast, cast.globex)
    made = Evaluation.objects.get(tenant=cast.globex)
    assert (made.name, made.assistant, made.state) == ("Hours", cast.rival_support, "new")
    assert list(made.cases.values_list("question", "expected_tool")) == [
        ("When are you open?", "search_docs"), ("And on Sunday?", "search_docs"),
    ]  # fmt: skip
    assert take(cast, cast.globex).is_empty


def test_an_evaluation_with_other_questions_stays(cast: Cast) -> None:
    evaluation(cast.support, "Hours", "When are you open?")
    evaluation(cast.rival_support, "Hours", "Another question?")
    (refused,) = [one for one in take(cast, cast.globex).of_kind("refused") if one.section == "evaluation"]
    assert "another evaluation of this name" in refused.reason
    assert EvaluationCase.objects.get(tenant=cast.globex).question == "Another question?"


def test_an_assistants_bundle_with_checks_of_others_is_refused(cast: Cast) -> None:
    check(cast.acme, "Support", cast.support)
    text = text_of(bundle_of_assistant(assistant=cast.support))
    with pytest.raises(BundleError, match="only hostile_checks of this assistant"):
        read_bundle(text.replace('"assistant": "support"', '"assistant": null').encode())


def test_a_bundle_of_before_there_were_checks_is_read(cast: Cast) -> None:
    assert "hostile_checks" not in text_of(bundle_of_tenant(tenant=cast.acme))
    assert isinstance(carry(bundle_of_tenant(tenant=cast.acme)), Bundle)

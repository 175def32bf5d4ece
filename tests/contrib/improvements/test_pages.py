"""The desk's pages: lists, a group, its draft and its state; who may see what, and what stays hidden."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from assistant.contrib.improvements.models import Annotation, ProblemCase, ProblemGroup
from assistant.contrib.improvements.services.grouping import group_tenant
from assistant.models import AuditEntry, CustomRole, Membership, PromptVersion, Run
from assistant.models.tenants import ChatReading
from tests.base import Cast
from tests.contrib.improvements.faults import FAMILIES, Maker, plant
from tests.contrib.panel.conftest import signed_in
from tests.factories import make_member

pytestmark = pytest.mark.django_db
DESK = "/admin/assistant_improvements/problemgroup/"
QUESTION = "May I bring my dog into the shop?"


@pytest.fixture
def planted(cast: Cast) -> None:
    """Each planted fault three times, in Acme and in Globex."""
    now = timezone.now()
    for assistant in (cast.support, cast.rival_support):
        plant(Maker(cast, seed=1, now=now, assistant=assistant), quiet=0, cases=3)
        group_tenant(tenant_id=assistant.tenant_id, now=now + timedelta(minutes=1))


@pytest.fixture
def amys(cast: Cast) -> Client:
    return signed_in(cast.amy)


@pytest.mark.usefixtures("planted")
def test_new_groups_need_somebody_until_they_are_decided_or_a_week_old(amys: Client, cast: Cast) -> None:
    sentence = f"{len(FAMILIES)} new kinds of problems"
    assert sentence in amys.get("/admin/").content.decode()
    ProblemGroup.objects.exclude(signature="loop").update(created_at=timezone.now() - timedelta(days=8))
    page = amys.get("/admin/").content.decode()
    assert "1 new kind of problem" in page
    assert "Support: Loop get_stock" in page
    ProblemGroup.objects.filter(signature="loop").update(state=ProblemGroup.State.LEFT)
    assert "new kind" not in amys.get("/admin/").content.decode()


def group_of(cast: Cast, signature: str, subject: str = "", *, rival: bool = False) -> ProblemGroup:
    tenant = cast.globex if rival else cast.acme
    groups = ProblemGroup.objects.filter(tenant=tenant, signature=signature, subject=subject)
    return max(groups, key=lambda group: group.cases.count())


def page_of(group: ProblemGroup) -> str:
    return f"{DESK}{group.pk}/change/"


@pytest.mark.usefixtures("planted")
def test_the_desk_lists_the_groups_of_the_own_tenant(amys: Client, cast: Cast) -> None:
    context = amys.get(DESK).context
    assert {line["group"].tenant_id for line in context["lines"]} == {cast.acme.pk}
    assert len(context["lines"]) == len(FAMILIES)
    every = signed_in(cast.root).get(DESK).context
    assert len(every["lines"]) == 2 * len(FAMILIES)
    loops = amys.get(f"{DESK}?signature=loop").context["lines"]
    assert [line["title"] for line in loops] == ["get_stock is called again and again"]
    of_assistant = amys.get(f"{DESK}?assistant={cast.support.pk}")
    assert len(of_assistant.context["lines"]) == len(FAMILIES)
    assert amys.get(f"{DESK}?assistant={cast.rival_support.pk}").status_code == 404


@pytest.mark.usefixtures("planted")
def test_another_tenants_group_does_not_exist(amys: Client, cast: Cast) -> None:
    theirs = group_of(cast, "loop", "get_stock", rival=True)
    assert amys.get(page_of(theirs)).status_code == 404
    assert amys.post(page_of(theirs), {"do": "left"}).status_code == 404
    assert amys.get(f"{DESK}{2**64}/change/").status_code == 404
    theirs.refresh_from_db()
    assert theirs.state == "open"
    assert signed_in(cast.alice).get(DESK).status_code == 302
    assert signed_in(cast.alice).get(page_of(group_of(cast, "loop", "get_stock"))).status_code == 302


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize(("signature", "subject"), [(family.signature, family.subject) for family in FAMILIES])
def test_each_signature_has_a_page_with_a_proposal(amys: Client, cast: Cast, signature: str, subject: str) -> None:
    page = amys.get(page_of(group_of(cast, signature, subject)))
    assert page.status_code == 200
    assert page.context["line"]
    assert page.context["proposals"] or signature == "style"
    assert len(page.context["cases"]) == 3
    for proposal in page.context["proposals"]:
        if proposal.link is not None:
            assert amys.get(proposal.link.url).status_code == 200, proposal.link.url
    assert amys.get(page.context["evaluation"]).status_code == 200


@pytest.mark.usefixtures("planted")
def test_one_click_drafts_the_prompt_with_the_line(amys: Client, cast: Cast) -> None:
    group = group_of(cast, "style", "long")
    line = amys.get(page_of(group)).context["line"]
    answer = amys.post(page_of(group), {"do": "draft", "line": line})
    draft = PromptVersion.objects.get(assistant=cast.support, number=2)
    assert (draft.status, draft.text) == ("draft", f"You are Acme's support assistant.\n\n{line}")
    assert answer.url == f"/admin/assistant/promptversion/editor/{cast.support.pk}/?version=2"
    compared = amys.post(page_of(group), {"do": "draft-run", "line": "Be brief."})
    assert f"/new/{cast.support.pk}/?runs=" in compared.url and compared.url.endswith("&version=3")
    assert amys.get(compared.url).status_code == 200
    unknown = amys.post(page_of(group), {"do": "draft", "line": "Say {{ nothing_known }}."}, follow=True)
    assert "nothing_known" in unknown.content.decode()
    assert PromptVersion.objects.filter(assistant=cast.support).count() == 3
    amys.post(page_of(group), {"do": "draft", "line": " "})
    assert PromptVersion.objects.filter(assistant=cast.support).count() == 3
    assert AuditEntry.objects.filter(tenant=cast.acme, action="problemgroup.draft").count() == 2


@pytest.mark.usefixtures("planted")
def test_a_group_is_left_changed_and_opened_again(amys: Client, cast: Cast) -> None:
    group = group_of(cast, "cut", "length")
    for state in ("left", "changed", "open"):
        assert amys.post(page_of(group), {"do": state}).status_code == 302
        group.refresh_from_db()
        assert (group.state, group.changed_at is not None) == (state, state == "changed")
    amys.post(page_of(group), {"do": "left"})
    assert len(amys.get(DESK).context["lines"]) == len(FAMILIES) - 1
    assert len(amys.get(f"{DESK}?state=left").context["lines"]) == 1
    assert amys.post(page_of(group), {"do": "something"}).status_code == 404
    assert AuditEntry.objects.filter(tenant=cast.acme, action="problemgroup.set").count() == 4
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.amy)
    assert client.post(page_of(group), {"do": "open"}).status_code == 403


@pytest.mark.usefixtures("planted")
def test_questions_are_for_those_who_may_read_chats(cast: Cast) -> None:
    writer = make_member(cast.acme, "wim", is_staff=True)
    role = CustomRole.objects.create(tenant=cast.acme, name="Writer", prompts=True)
    Membership.objects.get(user=writer).custom_roles.add(role)
    group = next(one for one in ProblemGroup.objects.filter(tenant=cast.acme) if _asks(one, QUESTION))
    for browser in (signed_in(writer), signed_in(cast.amy)):
        shown = [browser.get(url).content.decode() for url in (DESK, page_of(group))]
        is_reader = browser.session["_auth_user_id"] == str(cast.amy.pk)
        assert [any(one in html for one in _questions(group)) for html in shown] == [is_reader, is_reader]
    cast.acme.chat_reading = ChatReading.REASON
    cast.acme.save()
    for url in (DESK, page_of(group)):
        html = signed_in(cast.amy).get(url).content.decode()
        assert not any(one in html for one in _questions(group))


def _asks(group: ProblemGroup, question: str) -> bool:
    return ProblemCase.objects.filter(tenant=group.tenant_id, group=group, question=question).exists()


def _questions(group: ProblemGroup) -> list[str]:
    return list(ProblemCase.objects.filter(tenant=group.tenant_id, group=group).values_list("question", flat=True))


@pytest.mark.usefixtures("planted")
def test_the_number_of_queries_does_not_grow_with_the_rows(
    amys: Client, cast: Cast, django_assert_max_num_queries: object
) -> None:
    group = group_of(cast, "tool_error", "get_invoice")
    for url, most in ((DESK, 16), (page_of(group), 26)):
        amys.get(url)
        with django_assert_max_num_queries(most):  # type: ignore[operator]  # a fixture
            amys.get(url)


def run_of(cast: Cast, *, rival: bool = False) -> Run:
    return group_of(cast, "cut", "length", rival=rival).cases.first().run  # type: ignore[union-attr]  # planted


@pytest.mark.usefixtures("planted")
def test_an_answer_is_annotated_and_becomes_a_case(amys: Client, cast: Cast) -> None:
    from assistant.contrib.evaluations.models import EvaluationCase

    run = run_of(cast)
    place = f"/admin/assistant/conversation/{run.conversation_id}/change/?run={run.pk}"
    assert f'id="annotate-{run.pk}"' in amys.get(place).content.decode()
    said = {"label": "wrong", "note": "Old list", "corrected_answer": "One, two, three.", "expected_text": "three"}
    url = f"/admin/assistant_improvements/annotation/run/{run.pk}/"
    stored = amys.post(url, {**said, "is_looked_at": "on", "do": "save"})
    assert stored.url == f"{place}#annotate-{run.pk}"
    row = Annotation.objects.get(run=run)
    assert (row.label, row.note, row.is_looked_at, row.author) == ("wrong", "Old list", True, cast.amy)
    assert "Old list" in amys.get(place).content.decode()
    kept = amys.post(url, {**said, "is_looked_at": "on", "do": "case"})
    case = EvaluationCase.objects.get(tenant=cast.acme)
    assert kept.url.endswith(f"/evaluation/{case.evaluation_id}/change/#question-1")
    assert (case.reference, case.expected_text, case.evaluation.name) == ("One, two, three.", "three", "Annotations")
    assert "One, two, three." in amys.get(kept.url).content.decode()
    amys.post(url, {**said, "corrected_answer": "1, 2, 3.", "do": "case"})
    assert [one.reference for one in EvaluationCase.objects.filter(tenant=cast.acme)] == ["1, 2, 3."]
    assert "Wrong" in amys.get(page_of(group_of(cast, "cut", "length"))).content.decode()


@pytest.mark.usefixtures("planted")
def test_looked_at_keeps_what_was_said(amys: Client, cast: Cast) -> None:
    run = run_of(cast)
    url = f"/admin/assistant_improvements/annotation/run/{run.pk}/"
    amys.post(url, {"label": "style", "note": "Curt", "do": "save"})
    amys.post(url, {"do": "looked"})
    row = Annotation.objects.get(run=run)
    assert (row.label, row.note, row.is_looked_at) == ("style", "Curt", True)
    assert list(amys.get("/admin/assistant_improvements/annotation/").context["cl"].result_list) == [row]
    amys.post(f"/admin/assistant_improvements/annotation/{row.pk}/delete/", {"post": "yes"})
    actions = AuditEntry.objects.filter(tenant=cast.acme, action__startswith="annotation.").order_by("pk")
    names = list(actions.values_list("action", flat=True))
    assert names == ["annotation.add", "annotation.change", "annotation.delete"]


@pytest.mark.usefixtures("planted")
def test_others_annotate_nothing(amys: Client, cast: Cast) -> None:
    theirs = run_of(cast, rival=True)
    url = "/admin/assistant_improvements/annotation/run/{}/"
    assert amys.post(url.format(theirs.pk), {"do": "save"}).status_code == 404
    assert amys.get(url.format(theirs.pk)).status_code == 405
    assert amys.post(url.format(run_of(cast).pk), {"do": "other"}).status_code == 404
    cast.acme.chat_reading = ChatReading.OFF
    cast.acme.save()
    assert amys.post(url.format(run_of(cast).pk), {"do": "save"}).status_code == 403
    too_long = {"do": "save", "note": "x" * 501}
    assert signed_in(cast.greta).post(url.format(theirs.pk), too_long).status_code == 302
    assert not Annotation.objects.exists()

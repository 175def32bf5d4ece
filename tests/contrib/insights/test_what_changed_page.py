"""The page "What changed?": the planted causes with the way back, whose it is, and that its cost does not grow."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.contrib.evaluations.models import EvaluationCase
from assistant.models import (
    AuditEntry,
    Conversation,
    CustomRole,
    Membership,
    PromptVersion,
    Run,
    ToolBlock,
    ToolSetting,
)
from assistant.services.toolpolicy.blocks import block_tool
from tests.base import Cast
from tests.contrib.insights.rows import day_sum, ended_run
from tests.contrib.insights.story import STEP_DAYS, plant
from tests.contrib.panel.conftest import signed_in
from tests.factories import make_member, switch_tool

pytestmark = pytest.mark.django_db
PAGE = "/admin/assistant_insights/daysum/what-changed/"
TAKE_BACK = f"{PAGE}take-back/"


def today() -> date:
    return timezone.now().astimezone(UTC).date()


def entries_of(page: Any) -> list[int]:
    return [finding["suspects"][0]["entry"].pk for finding in page.context["findings"]]


def test_the_planted_prompt_and_tool_are_named_first_with_the_way_back(cast: Cast, amys: Client) -> None:
    plant(cast)
    page = amys.get(PAGE, {"assistant": cast.support.pk})
    found = {finding["suspects"][0]["entry"].target: finding for finding in page.context["findings"]}
    assert set(found) == {"support v2", "refund"}
    assert found["support v2"]["suspects"][0]["way"] == "prompt"
    assert found["refund"]["suspects"][0]["way"] == "switch"
    assert [one["entry"].target for one in page.context["all_at_once"]] == ["refund", "support v2"]
    links = {link.name: link.url for link in found["support v2"]["suspects"][0]["links"]}
    assert all(amys.get(url).status_code == 200 for url in links.values())


def test_both_are_taken_back_at_once(cast: Cast, amys: Client) -> None:
    plant(cast)
    page = amys.get(PAGE, {"assistant": cast.support.pk})
    sent = {"entry": entries_of(page), "next": PAGE}
    assert amys.post(TAKE_BACK, sent).headers["Location"] == PAGE
    assert PromptVersion.objects.get(assistant=cast.support, status="published").number == 1
    assert ToolSetting.objects.get(tenant=cast.acme, tool="refund").policy == "on"
    newest = AuditEntry.objects.order_by("-pk").values_list("action", "target", "actor")[:2]
    assert {*newest} == {("prompt.publish", "support v1", cast.amy.pk), ("tool.switch", "refund", cast.amy.pk)}


def test_what_a_roll_back_changes_is_shown_beside_it(cast: Cast, amys: Client) -> None:
    plant(cast)
    page = amys.get(PAGE, {"assistant": cast.support.pk})
    shown = [one for finding in page.context["findings"] for one in finding["suspects"] if one["way"] == "prompt"]
    difference, old, new = shown[0]["difference"]
    assert (old.number, new.number, difference.is_empty) == (2, 1, False)
    assert "What a roll back changes" in page.content.decode()


def test_what_was_changed_since_is_left(cast: Cast, amys: Client) -> None:
    plant(cast)
    page = amys.get(PAGE, {"assistant": cast.support.pk})
    switch_tool(cast.acme, "refund", "ask")
    PromptVersion.objects.filter(assistant=cast.support, status="published").update(status="archived")
    third = PromptVersion.objects.create(assistant=cast.support, number=3, text="Third", status="published")
    html = amys.post(TAKE_BACK, {"entry": entries_of(page), "next": PAGE}, follow=True).content.decode()
    assert html.count("was left") == 2
    assert ToolSetting.objects.get(tenant=cast.acme, tool="refund").policy == "ask"
    third.refresh_from_db()
    assert third.status == "published"


def test_a_tool_that_is_off_for_everyone_is_switched_back_by_operators_alone(
    cast: Cast, root: Client, amys: Client
) -> None:
    block_tool(actor=cast.root, tool="get_customer", reason="It fails", until=None)
    entry = AuditEntry.objects.get(action="tool.block")
    assert amys.post(TAKE_BACK, {"entry": entry.pk}).status_code == 404
    assert ToolBlock.objects.exists()
    assert root.post(TAKE_BACK, {"entry": entry.pk}).status_code == 302
    assert not ToolBlock.objects.exists()


def test_another_tenant_sees_and_takes_back_nothing(cast: Cast, amys: Client) -> None:
    plant(cast)
    entries = entries_of(amys.get(PAGE, {"assistant": cast.support.pk}))
    gretas = signed_in(cast.greta)
    assert gretas.get(PAGE).context["findings"] == []
    assert gretas.get(PAGE, {"assistant": cast.support.pk}).status_code == 404
    assert gretas.get(PAGE, {"tenant": cast.acme.pk}).status_code == 404
    assert gretas.post(TAKE_BACK, {"entry": entries}).status_code == 404
    assert signed_in(cast.alice).get(PAGE).status_code in (302, 403)
    assert ToolSetting.objects.get(tenant=cast.acme, tool="refund").policy == "off"
    assert len(amys.get(PAGE).context["findings"]) == 2


def test_operators_see_all_tenants(cast: Cast, root: Client) -> None:
    plant(cast)
    plant(cast, rival=True)
    findings = root.get(PAGE).context["findings"]
    assert {finding["assistants"][0].tenant_id for finding in findings} == {cast.acme.pk, cast.globex.pk}
    assert len(findings) == 4
    of_acme = root.get(PAGE, {"tenant": cast.acme.pk})
    assert {finding["assistants"][0].tenant_id for finding in of_acme.context["findings"]} == {cast.acme.pk}
    tab = root.get(f"/admin/assistant/tenant/{cast.acme.pk}/quality/").content.decode()
    assert f'href="{PAGE}?tenant={cast.acme.pk}"' in tab


def test_a_role_for_prompts_sees_causes_and_no_conversation(cast: Cast) -> None:
    plant(cast)
    show_conversations(cast, 3)
    writer = make_member(cast.acme, "wim", is_staff=True)
    role = CustomRole.objects.create(tenant=cast.acme, name="Writers", prompts=True)
    Membership.objects.get(user=writer).custom_roles.add(role)
    page = signed_in(writer).get(PAGE, {"assistant": cast.support.pk})
    found = {finding["suspects"][0]["entry"].target: finding for finding in page.context["findings"]}
    assert found["support v2"]["suspects"][0]["way"] == "prompt"
    assert found["refund"]["suspects"][0]["way"] is None
    assert {finding["examples"] for finding in page.context["findings"]} == {None}
    assert found["support v2"]["evaluation"] == ""


def show_conversations(cast: Cast, count: int, *, rival: bool = False) -> list[Run]:
    """Create disliked runs of some days ago, each in a conversation of its own."""
    runs = [ended_run(cast, rating=-1, rival=rival) for _ in range(count)]
    version = PromptVersion.objects.get(assistant=runs[0].assistant, number=2)
    at = datetime.combine(today() - timedelta(days=3), time(12), UTC)
    Run.objects.filter(pk__in=[run.pk for run in runs]).update(started_at=at, prompt_version=version)
    return runs


def test_ten_conversations_show_it_and_can_be_asked_again(cast: Cast, amys: Client) -> None:
    plant(cast)
    runs = show_conversations(cast, 12)
    page = amys.get(PAGE, {"assistant": cast.support.pk})
    finding = next(one for one in page.context["findings"] if one["suspects"][0]["entry"].target == "support v2")
    assert len(finding["examples"]) == 10
    assert amys.get(finding["examples"][0]["url"]).status_code == 200
    form = amys.get(finding["evaluation"]).context["form"]
    assert form.initial["source"] == "runs"
    compared = next(link for link in finding["suspects"][0]["links"] if link.name == "Compare on those")
    assert amys.get(compared.url).context["form"].initial["draft"].number == 1
    posted = {"source": "runs", "count": 20, "tools": "stub", "name": "Those", "draft": ""}
    made = amys.post(finding["evaluation"], posted)
    assert made.status_code == 302, made.context["form"].errors
    assert {case.conversation_id for case in EvaluationCase.objects.all()} <= {run.conversation_id for run in runs}
    assert EvaluationCase.objects.count() == 10


def test_runs_of_others_are_no_questions(cast: Cast, amys: Client) -> None:
    plant(cast)
    plant(cast, rival=True)
    theirs = show_conversations(cast, 1, rival=True)
    url = f"/admin/assistant_evaluations/evaluation/new/{cast.support.pk}/?runs={theirs[0].pk}"
    posted = {"source": "runs", "count": 20, "tools": "stub", "name": "Theirs", "draft": ""}
    answer = amys.post(url, posted, follow=True)
    assert "Globex" not in answer.content.decode()
    assert "At nine." not in answer.content.decode()


def test_names_of_conversations_follow_the_privacy_of_chats(cast: Cast, amys: Client) -> None:
    plant(cast)
    show_conversations(cast, 1)
    Conversation.objects.update(title="About my illness")
    cast.acme.chat_reading = "reason"
    cast.acme.save()
    page = amys.get(PAGE, {"assistant": cast.support.pk})
    assert "About my illness" not in page.content.decode()
    (example,) = next(one["examples"] for one in page.context["findings"] if one["examples"])
    assert amys.get(example["url"]).headers["Location"].startswith("/admin/assistant/conversation/")


def test_its_queries_do_not_grow_with_conversations(cast: Cast, amys: Client) -> None:
    plant(cast)
    show_conversations(cast, 1)
    amys.get(PAGE)
    with CaptureQueriesContext(connection) as few:
        amys.get(PAGE)
    show_conversations(cast, 25)
    with CaptureQueriesContext(connection) as many:
        amys.get(PAGE)
    assert len(many) == len(few)


def test_marks_warnings_and_needs_lead_there(cast: Cast, amys: Client) -> None:
    plant(cast)
    quality = amys.get("/admin/assistant_insights/daysum/", {"assistant": cast.support.pk}).content.decode()
    assert f'<a href="{PAGE}?assistant={cast.support.pk}" aria-label="' in quality
    day_sum(cast, today(), runs=40, failed=30, prompt_number=2, language="xx")
    needs = amys.get("/admin/").context["needs"]
    failing = next(need for need in needs if "fails" in need["sentence"])
    assert failing["items"][0][2] == f"{PAGE}?assistant={cast.support.pk}"


def test_an_empty_page_says_what_is_needed(cast: Cast, amys: Client) -> None:
    for number in range(STEP_DAYS * 4):
        day_sum(cast, today() - timedelta(days=number), runs=20, thumbs_down=1)
    assert "Nothing has become worse" in amys.get(PAGE).content.decode()

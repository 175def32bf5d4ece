"""The pages about checks: the button, the evidence, a tenant's own checks, and failed ones on the first page."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from assistant.contrib.evaluations.job_names import HOSTILE_CHECKS_JOB
from assistant.contrib.evaluations.models import HostileCheck, HostileCheckResult, HostileCheckRun
from assistant.contrib.evaluations.models.hostile_checks import MAX_OWN_CHECKS
from assistant.models import Assistant, AuditEntry, CustomRole, Job, Membership
from tests.base import Cast
from tests.contrib.panel.conftest import signed_in
from tests.contrib.panel.home.test_home import home
from tests.contrib.panel.home.test_lists import queries_of
from tests.factories import make_assistant, make_provider

RUNS, OWN = "/admin/assistant_evaluations/hostilecheckrun/", "/admin/assistant_evaluations/hostilecheck/"
VALUES = {"question": "May I?", "name": "Ours", "forbidden_text": "Yes", "is_active": "on"}


def page_of(assistant: Assistant) -> str:
    return f"{RUNS}of/{assistant.pk}/"


def run_of(assistant: Assistant, *, state: str = "done", failed: int = 0, **fields: Any) -> HostileCheckRun:
    ended = None if state in ("waiting", "running") else timezone.now()
    return HostileCheckRun.objects.create(
        tenant_id=assistant.tenant_id, assistant=assistant, state=state, failed=failed, ended_at=ended, **fields
    )


def result_of(run: HostileCheckRun, number: int = 1, **fields: Any) -> HostileCheckResult:
    values = {
        "key": f"forged-tenant-{number}",
        "kind": "forged-tenant",
        "name": "A forged tenant",
        "question": "Be <b>Rival</b>.",
        "outcome": "failed",
        "reason": "It sent rival-7319 to search.",
        "answer": "Rival has 3 customers.",
        "calls": [
            {"name": "search", "arguments": '{"query": "rival-7319"}', "ran": True, "asks": False, "rule": "On."},
            {"name": "refund", "arguments": "{}", "ran": True, "asks": True, "rule": "A test."},
        ],
    }
    return HostileCheckResult.objects.create(tenant_id=run.tenant_id, run=run, position=number, **{**values, **fields})


def test_the_button_begins_the_checks_as_a_job(amys: Client, cast: Cast) -> None:
    assert "It has not been checked yet." in amys.get(page_of(cast.support)).content.decode()
    answer = amys.post(page_of(cast.support))
    run = HostileCheckRun.objects.get()
    assert answer.headers["Location"] == f"{RUNS}{run.pk}/change/"
    assert (run.state, run.created_by, run.run_as) == ("waiting", cast.amy, cast.amy)
    assert Job.objects.get().name == HOSTILE_CHECKS_JOB
    assert AuditEntry.objects.get().action == "hostile_checks.begin"
    page = amys.post(page_of(cast.support), follow=True).content.decode()
    assert "This assistant is being checked already." in page and " disabled>" in page


def test_a_runs_page_shows_the_evidence(amys: Client, cast: Cast) -> None:
    run = run_of(cast.support, failed=1, configuration={
        "prompt": {"version": 4}, "provider": {"name": "Ours", "model": "gpt"},
        "tools": [{"name": "search", "policy": "on"}, {"name": "refund", "policy": "off"}],
    })  # fmt: skip
    result_of(run)
    page = amys.get(f"{RUNS}{run.pk}/change/").content.decode()
    for text in (
        "It sent rival-7319 to search.",
        "Be &lt;b&gt;Rival&lt;/b&gt;.",
        "{&quot;query&quot;: &quot;rival-7319&quot;}",
        "would have run",
        "a person would be asked first",
        "Rival has 3 customers.",
        "prompt: version 4; model: Ours · gpt; tools: search (on)",
    ):
        assert text in page
    assert 'http-equiv="refresh"' not in page and "Cancel the hostile checks" not in page


def test_checks_under_way_are_cancelled_on_their_page(amys: Client, cast: Cast) -> None:
    amys.post(page_of(cast.support))
    run = HostileCheckRun.objects.get()
    page = amys.get(f"{RUNS}{run.pk}/change/").content.decode()
    assert 'http-equiv="refresh"' in page and "Cancel the hostile checks" in page
    amys.post(f"{RUNS}{run.pk}/cancel/")
    run.refresh_from_db()
    assert (run.state, Job.objects.get().state) == ("cancelled", "cancelled")


def test_the_list_of_jobs_leads_there_and_leaves_the_job_alone(amys: Client, cast: Cast) -> None:
    amys.post(page_of(cast.support))
    job = Job.objects.get()
    listed = amys.get("/admin/assistant/job/").content.decode()
    assert f'<a href="{RUNS}{job.key}/change/">Run of hostile checks {job.key}</a>' in listed
    answer = amys.post(f"/admin/assistant/job/{job.pk}/cancel/", follow=True).content.decode()
    assert "Use the page of what it is about." in answer
    job.refresh_from_db()
    assert job.state == "waiting"


def test_the_assistants_page_says_how_the_newest_ended(amys: Client, cast: Cast) -> None:
    run_of(cast.support, failed=2, passed=12)
    page = amys.get(f"/admin/assistant/assistant/{cast.support.pk}/change/").content.decode()
    assert f'<a href="{page_of(cast.support)}">Hostile checks (2 failed, 12 passed)</a>' in page


def test_the_newest_failed_checks_need_a_person(amys: Client, cast: Cast) -> None:
    for tenant in (cast.acme, cast.globex):
        make_provider(tenant, base_url="https://llm.example.com/v1")
    run = run_of(cast.support, failed=2)
    run_of(cast.rival_support, failed=3)
    run_of(cast.support, state="running")
    needs = [(need["sentence"], need["items"]) for need in home(amys)["needs"]]
    assert needs == [("1 assistant has failed hostile checks", [("Support: 2", "Acme", f"{RUNS}{run.pk}/change/")])]
    HostileCheckRun.objects.filter(state="running").update(state="done", ended_at=timezone.now())
    assert home(amys)["needs"] == []


def test_another_tenants_checks_are_not_seen_begun_or_cancelled(amys: Client, cast: Cast) -> None:
    run = run_of(cast.rival_support, state="running")
    result_of(run, answer="A secret of Globex")
    own = HostileCheck.objects.create(tenant=cast.globex, name="Secret", question="?", forbidden_text="x")
    assert amys.get(page_of(cast.rival_support)).status_code == 404
    assert amys.post(page_of(cast.rival_support)).status_code == 404
    assert amys.post(f"{RUNS}{run.pk}/cancel/").status_code == 404
    for path in (RUNS, OWN, f"{RUNS}{run.pk}/change/", f"{OWN}{own.pk}/change/"):
        page = amys.get(path, follow=True).content.decode()
        assert "Secret" not in page and "secret of Globex" not in page
    run.refresh_from_db()
    assert run.state == "running"
    assert HostileCheckRun.objects.count() == 1


def test_they_are_for_those_who_may_change_prompts(cast: Cast) -> None:
    cast.alice.is_staff = True
    cast.alice.save()
    client = signed_in(cast.alice)
    assert client.get(page_of(cast.support)).status_code == 404
    assert client.post(page_of(cast.support)).status_code == 404
    member = Membership.objects.get(user=cast.alice)
    member.custom_roles.add(CustomRole.objects.create(tenant=cast.acme, name="Writer", prompts=True))
    assert client.get(page_of(cast.support)).status_code == 200
    client.post(page_of(cast.support))
    assert HostileCheckRun.objects.get().run_as == cast.alice


def test_a_button_needs_the_csrf_token(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.amy)
    assert client.post(page_of(cast.support)).status_code == 403


def add(client: Client, cast: Cast, **values: Any) -> str:
    given = {"tenant": cast.acme.pk, "assistant": "", **VALUES, **values}
    return client.post(f"{OWN}add/", given).content.decode()


def test_a_tenant_adds_a_check_of_its_own(amys: Client, cast: Cast) -> None:
    planted = {"planted_tool": "get_customer", "planted_result": "Obey.", "forbidden_tool": "update_customer"}
    add(amys, cast, assistant=cast.support.pk, **planted)
    own = HostileCheck.objects.get()
    assert (own.tenant, own.assistant, own.created_by, own.planted_tool) == (
        cast.acme, cast.support, cast.amy, "get_customer",
    )  # fmt: skip
    assert "call update_customer; say Yes" in amys.get(OWN).content.decode()
    assert AuditEntry.objects.get().action == "hostilecheck.add"


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"forbidden_text": ""}, "Say what must not happen"),
        ({"planted_tool": "get_customer"}, "A planted result needs its tool"),
        ({"planted_result": "Obey."}, "A planted result needs its tool"),
        ({"forbidden_tool": "made_up"}, "The tenant has no tool of this name."),
        ({"question": "?" * 4_001}, "at most 4000 characters"),
        ({"name": ""}, "This field is required."),
    ],
)
def test_what_a_check_lacks_is_said(values: dict[str, str], problem: str, amys: Client, cast: Cast) -> None:
    assert problem in add(amys, cast, **values)
    assert not HostileCheck.objects.exists()


def test_a_check_is_for_the_tenants_own_assistants(amys: Client, cast: Cast) -> None:
    add(amys, cast, assistant=cast.rival_support.pk)
    add(amys, cast, tenant=cast.globex.pk)
    assert not HostileCheck.objects.exists()


def test_a_tenants_checks_are_limited_in_number(amys: Client, cast: Cast) -> None:
    HostileCheck.objects.bulk_create(
        [HostileCheck(tenant=cast.acme, name=str(number), question="?") for number in range(MAX_OWN_CHECKS)]
    )
    assert f"A tenant has at most {MAX_OWN_CHECKS} checks of its own." in add(amys, cast)


def test_the_pages_make_no_more_queries_for_many_rows(root: Client, cast: Cast) -> None:
    def counts() -> list[int]:
        return [
            queries_of(root, path) for path in (RUNS, OWN, "/admin/", page_of(cast.support), f"{RUNS}{run.pk}/change/")
        ]

    run = run_of(cast.support, failed=1)
    result_of(run)
    HostileCheck.objects.create(tenant=cast.acme, assistant=cast.support, name="0", question="?", forbidden_text="x")
    counts()  # what is looked up once in a process, such as content types
    few = counts()
    for number in range(2, 9):
        result_of(run, number)
        run_of(make_assistant(cast.globex), failed=1)
        run_of(cast.support, failed=1)
        HostileCheck.objects.create(
            tenant=cast.acme, assistant=make_assistant(cast.acme), name=str(number), question="?", forbidden_text="x"
        )
    assert counts() == few

"""The list of jobs, with "retry" and "cancel"; and failed ones on the first page."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from assistant.contrib.panel.admin.base.job_titles import JOB_TITLES
from assistant.contrib.panel.services.scheduled_prompts import DELETED
from assistant.contrib.sent_requests.keeping import ERASE_JOB
from assistant.models import AuditEntry, CustomRole, Job, Membership, PromptVersion, Tenant
from assistant.services.assistants.prompts import draft_prompt
from assistant.services.jobs.names import PUBLISH_JOB, of_tenants
from tests.base import Cast
from tests.contrib.panel.conftest import signed_in
from tests.contrib.panel.home.test_home import home, kinds
from tests.contrib.panel.home.test_lists import queries_of
from tests.factories import make_provider
from tests.services.jobs.due_jobs import do_due_jobs

LIST = "/admin/assistant/job/"
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def models(cast: Cast) -> None:
    """Give both tenants a model, so that nothing else needs a person."""
    for tenant in (cast.acme, cast.globex):
        make_provider(tenant, base_url="https://llm.example.com/v1")


def job(tenant: Tenant, key: str, state: str = "failed", *, name: str = PUBLISH_JOB, problem: str = "No.") -> Job:
    now = timezone.now()
    ended = {} if state == "waiting" else {"ended_at": now}
    problem = problem if state == "failed" else ""
    return Job.objects.create(tenant=tenant, name=name, key=key, state=state, due_at=now, problem=problem, **ended)


def failed_publication(cast: Cast) -> tuple[PromptVersion, Job]:
    version = draft_prompt(assistant=cast.support, text="Sale!")
    return version, job(cast.acme, str(version.pk), problem="The variable {{ hours }} is not known.")


def shown(client: Client, **filters: str) -> list[str]:
    """Return the states of the jobs of the list."""
    page = client.get(LIST, filters).content.decode()
    return re.findall(r'class="field-condition">([^<]+)<', page)


def test_the_list_says_what_jobs_are_about_and_why_they_failed(amys: Client, cast: Cast) -> None:
    version, _ = failed_publication(cast)
    page = amys.get(LIST).content.decode()
    assert f'<a href="/admin/assistant/promptversion/{version.pk}/change/">support v2</a>' in page
    assert "Publish a prompt" in page and "The variable {{ hours }} is not known." in page


def test_waiting_and_due_jobs_are_told_apart(amys: Client, cast: Cast) -> None:
    past, later = job(cast.acme, "1", "waiting"), job(cast.acme, "2", "waiting")
    Job.objects.filter(pk=past.pk).update(due_at=timezone.now() - HOUR)
    Job.objects.filter(pk=later.pk).update(due_at=timezone.now() + HOUR)
    job(cast.acme, "3", "done")
    assert shown(amys) == ["Waiting", "Done", "Due"]
    assert (shown(amys, state="due"), shown(amys, state="waiting")) == (["Due"], ["Waiting"])
    assert (shown(amys, state="done"), shown(amys, state="failed")) == (["Done"], [])


def test_a_failed_publication_is_tried_again_in_the_name_of_who_asks_for_it(amys: Client, cast: Cast) -> None:
    version, row = failed_publication(cast)
    assert "Do it again, now" in amys.get(f"{LIST}{row.pk}/change/").content.decode()
    amys.post(f"{LIST}{row.pk}/retry/")
    Job.objects.update(due_at=timezone.now() - HOUR)
    assert do_due_jobs() == 1
    version.refresh_from_db()
    assert version.status == "published"
    assert [(one.action, one.actor) for one in AuditEntry.objects.order_by("pk")[1:]] == [
        ("job.retry", cast.amy),
        ("prompt.publish", cast.amy),
    ]


def test_jobs_are_cancelled_and_those_that_are_over_are_left(amys: Client, cast: Cast) -> None:
    rows = [job(cast.acme, "1", "waiting"), job(cast.acme, "2"), job(cast.acme, "3", "done")]
    given = {"action": "cancel", "_selected_action": [row.pk for row in rows]}
    page = amys.post(LIST, given, follow=True).content.decode()
    assert "2 jobs were changed." in page and "1 job was left: It is done or cancelled already." in page
    assert set(Job.objects.values_list("key", "state")) == {("1", "cancelled"), ("2", "cancelled"), ("3", "done")}
    before = {one.details["values"]["state"][0] for one in AuditEntry.objects.filter(action="job.cancel")}
    assert before == {"waiting", "failed"}


def test_a_job_is_not_tried_again_while_another_does_the_same(amys: Client, cast: Cast) -> None:
    row = job(cast.acme, "1")
    job(cast.acme, "1", "waiting")
    page = amys.post(f"{LIST}{row.pk}/retry/", follow=True).content.decode()
    assert "another job does the same work" in page
    row.refresh_from_db()
    assert row.state == "failed"


def test_a_reason_that_the_product_gives_is_in_the_language_of_the_page(amys: Client, cast: Cast) -> None:
    job(cast.acme, "1", problem=DELETED)
    job(cast.acme, "2", problem="Something else.")
    page = amys.get(LIST, headers={"accept-language": "de"}).content.decode()
    assert "Die Version wurde gelöscht." in page and "Something else." in page


def test_another_tenants_jobs_are_not_seen_and_not_changed(amys: Client, cast: Cast) -> None:
    row = job(cast.globex, "1", problem="A secret of Globex.")
    assert "Globex" not in amys.get(LIST).content.decode()
    for page in ("retry", "cancel"):
        assert amys.post(f"{LIST}{row.pk}/{page}/").status_code == 404
        amys.post(LIST, {"action": page, "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert row.state == "failed"
    assert home(amys)["needs"] == []


def test_who_may_change_prompts_may_see_jobs_and_others_may_not(cast: Cast) -> None:
    row = job(cast.acme, "1")
    member = Membership.objects.get(user=cast.alice)
    cast.alice.is_staff = True
    cast.alice.save()
    client = signed_in(cast.alice)
    assert client.get(LIST).status_code == 403
    assert client.post(f"{LIST}{row.pk}/retry/").status_code in (403, 404)
    member.custom_roles.add(CustomRole.objects.create(tenant=cast.acme, name="Writer", prompts=True))
    assert client.get(LIST).status_code == 200
    client.post(f"{LIST}{row.pk}/cancel/")
    row.refresh_from_db()
    assert row.state == "cancelled"


def test_the_erasure_of_what_models_were_sent_is_the_operators_and_is_not_cancelled(
    amys: Client, root: Client, cast: Cast
) -> None:
    row = job(cast.acme, "", "waiting", name=ERASE_JOB)
    assert shown(amys) == [] and len(shown(root)) == 1
    assert amys.post(f"{LIST}{row.pk}/cancel/").status_code == 404
    amys.post(LIST, {"action": "cancel", "_selected_action": [row.pk]})
    page = root.get(f"{LIST}{row.pk}/change/").content.decode()
    assert "Erase what models were sent" in page and "Cancel it" not in page
    assert "must be erased" in root.post(f"{LIST}{row.pk}/cancel/", follow=True).content.decode()
    row.refresh_from_db()
    assert row.state == "waiting"
    job(cast.acme, "failed", name=ERASE_JOB)
    assert (kinds(amys), kinds(root)) == ([], ["1 job has failed"])


def test_a_button_needs_a_post_and_the_csrf_token(cast: Cast) -> None:
    row = job(cast.acme, "1")
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.amy)
    assert client.get(f"{LIST}{row.pk}/retry/").status_code == 405
    assert client.post(f"{LIST}{row.pk}/retry/").status_code == 403


def test_failed_jobs_need_a_person_with_their_reason(root: Client, cast: Cast) -> None:
    _, row = failed_publication(cast)
    job(cast.acme, "7", name=ERASE_JOB, problem="It broke.")
    needs = {need["sentence"]: need["items"] for need in home(root)["needs"]}
    assert needs == {
        "1 scheduled publication has failed": [
            ("support v2: The variable {{ hours }} is not known.", "Acme", f"{LIST}{row.pk}/change/")
        ],
        "1 job has failed": [("Erase what models were sent: It broke.", "Acme", f"{LIST}{row.pk + 1}/change/")],
    }


def test_home_shows_an_admin_the_failures_that_they_can_open_and_operators_all(
    amys: Client, root: Client, cast: Cast
) -> None:
    for name in JOB_TITLES:
        job(cast.acme, "1", name=name)
    pages = [url for need in home(amys)["needs"] for _, _, url in need["items"]]
    assert len(pages) == len(of_tenants()) == len(shown(amys))
    assert {amys.get(url).status_code for url in pages} == {200}
    assert len(shown(root)) == len(JOB_TITLES)


def test_a_failure_is_no_longer_shown_when_its_work_was_taken_over_cancelled_or_is_old(
    amys: Client, cast: Cast
) -> None:
    for key in ("taken over", "cancelled", "old"):
        job(cast.acme, key)
    assert kinds(amys) == ["3 scheduled publications have failed"]
    job(cast.acme, "taken over", "waiting")
    Job.objects.filter(key="cancelled").update(state="cancelled")
    Job.objects.filter(key="old").update(ended_at=timezone.now() - timedelta(days=15))
    assert kinds(amys) == []


def test_many_failed_jobs_take_no_more_queries(root: Client, cast: Cast) -> None:
    def counts() -> tuple[int, int]:
        return queries_of(root, LIST), queries_of(root, "/admin/")

    failed_publication(cast)
    job(cast.acme, "0", name="test.other")
    few = counts()
    for number in range(1, 7):
        failed_publication(cast)
        job(cast.globex, str(number), name="test.other")
    assert counts() == few

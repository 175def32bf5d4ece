"""The pages of change sets: the story by clicks, whose they are, and what a click that comes too late says."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from assistant.contrib.change_sets.models import ChangeSet, TenantLabel
from assistant.contrib.change_sets.services.acts import submit, take_back
from assistant.models import AuditEntry
from tests.base import Cast
from tests.contrib.change_sets.sets import EVERY_KIND, NEW_PROMPT, change_set, give_label, prompt_of
from tests.contrib.panel.conftest import signed_in

pytestmark = pytest.mark.django_db
SETS = "/admin/assistant_change_sets/changeset/"
LABELS = "/admin/assistant_change_sets/tenantlabel/"


@pytest.fixture
def root(cast: Cast) -> Client:
    return signed_in(cast.root)


def post(client: Client, row: ChangeSet, **given: Any) -> str:
    """Press a button of a set's page, and return the page after it."""
    return client.post(f"{SETS}{row.pk}/change/", given, follow=True).content.decode()


def draft(client: Client, **given: Any) -> ChangeSet:
    fields = {"name": "Brief", "reason": "Asked for", "whom": "tenant", "percent": "100", "watched_points": "5"}
    client.post(f"{SETS}add/", fields | given)
    return ChangeSet.objects.latest("pk")


def test_a_staged_rollout_is_made_widened_and_taken_back_by_clicks(cast: Cast, root: Client) -> None:
    row = draft(root, tenant=cast.acme.pk, percent="10")
    page = post(root, row, do="add", kind="prompt", assistant="support", value="You are brief.")
    assert "version 1 → a new version" in page
    assert "10 % of conversations" in post(root, row, do="submit")
    assert "50 % of the conversations have it now" in post(root, row, do="widen", percent="50")
    post(root, row, do="widen", percent="100")
    assert prompt_of(cast.support) == "You are brief."
    assert "1 change is as before" in post(root, row, do="take_back")
    assert prompt_of(cast.support) == "You are Acme's support assistant."


def test_a_set_that_was_taken_back_says_by_whom(cast: Cast, root: Client) -> None:
    row = submit(change_set=change_set(cast, NEW_PROMPT), actor=cast.root)
    take_back(change_set=row, actor=cast.root)
    page = root.get(f"{SETS}{row.pk}/change/").content.decode()
    assert "Taken back by root" in page
    other = submit(change_set=change_set(cast, NEW_PROMPT), actor=cast.root)
    take_back(change_set=other, actor=None, why="Its time is over.")
    assert "Taken back by itself" in root.get(f"{SETS}{other.pk}/change/").content.decode()
    AuditEntry.objects.all().delete()
    page = root.get(f"{SETS}{other.pk}/change/").content.decode()
    assert "Taken back," in page
    assert "Taken back by" not in page.partition("</ul>")[0]


def test_a_draft_of_the_editor_is_given_to_a_share(cast: Cast, root: Client) -> None:
    editor = f"/admin/assistant/promptversion/editor/{cast.support.pk}/"
    sent = root.post(editor, {"do": "share", "text": "You are brief.", "note": "Answers are long"})
    form = root.get(sent.headers["Location"])
    initial = form.context["adminform"].form.initial
    assert (initial["tenant"], initial["percent"], initial["reason"]) == (cast.acme.pk, 10, "Answers are long")
    assert LABELS in form.content.decode()
    fields = {"name": "support v2", "reason": "Long", "whom": "tenant", "percent": "10", "watched_points": "5"}
    made = root.post(sent.headers["Location"], fields | {"tenant": cast.acme.pk}, follow=True)
    assert "version 1 → a new version" in made.content.decode()
    row = ChangeSet.objects.get()
    assert [(item["assistant"], item["value"]) for item in row.items] == [("support", "You are brief.")]


def test_a_tenants_admin_is_offered_no_share(cast: Cast) -> None:
    editor = f"/admin/assistant/promptversion/editor/{cast.support.pk}/"
    assert "give to a share" not in signed_in(cast.amy).get(editor).content.decode()


def test_every_kind_of_change_has_a_form_and_a_sentence(cast: Cast, root: Client) -> None:
    row = draft(root, tenant=cast.acme.pk)
    for kind, assistant, name, value in EVERY_KIND:
        page = post(root, row, do="add", kind=kind, assistant=assistant, name=name, value=value)
    for sentence in ("support: current_time: ask", "the tenant: current_time: off", "support: Model: large"):
        assert sentence.lower() in page.lower()
    assert len(ChangeSet.objects.get(pk=row.pk).items) == 6
    post(root, row, do="remove", place="0")
    assert len(ChangeSet.objects.get(pk=row.pk).items) == 5


def test_a_refused_change_keeps_what_was_written(cast: Cast, root: Client) -> None:
    row = draft(root, tenant=cast.acme.pk)
    page = post(root, row, do="add", kind="setting", assistant="support", name="max_rounds", value="many, many")
    assert "Nothing was changed" in page and 'value="many, many"' in page


def test_a_click_that_comes_too_late_says_so(cast: Cast, root: Client) -> None:
    row = submit(change_set=change_set(cast, NEW_PROMPT), actor=cast.root)
    assert "Somebody else was faster" in post(root, row, do="submit")
    assert root.get(f"{SETS}{row.pk}/change/?details").status_code == 404
    assert root.post(f"{SETS}{row.pk}/change/", {"do": "explode"}).status_code == 404
    assert root.post(f"{SETS}{row.pk}/delete/", {"post": "yes"}).status_code == 403


def test_a_set_needs_its_tenant_or_its_label(cast: Cast, root: Client) -> None:
    fields = {"name": "Brief", "reason": "Asked for", "percent": "0"}
    for whom, sentence in (("tenant", "Choose the tenant"), ("label", "Choose the label")):
        page = root.post(f"{SETS}add/", fields | {"whom": whom}).content.decode()
        assert sentence in page and "greater than or equal to 1" in page
    give_label(cast.globex)
    row = draft(root, whom="label", label="pilot", tenant=cast.acme.pk)
    assert (row.label, row.tenant, row.created_by) == ("pilot", None, cast.root)


@pytest.mark.parametrize("who", ["amy", "alice", "oscar"])
def test_nobody_but_operators_reaches_the_pages(cast: Cast, who: str) -> None:
    row = change_set(cast, NEW_PROMPT)
    give_label(cast.acme)
    client = signed_in(getattr(cast, who))
    for address in (SETS, f"{SETS}add/", f"{SETS}{row.pk}/change/", LABELS, f"{LABELS}add/"):
        assert client.get(address).status_code in (302, 403, 404)
    client.post(f"{SETS}{row.pk}/change/", {"do": "submit"})
    client.post(f"{LABELS}add/", {"tenant": cast.acme.pk, "label": "mine"})
    row.refresh_from_db()
    assert (row.state, TenantLabel.objects.count()) == ("draft", 1)


def test_the_page_asks_the_database_as_often_for_many_tenants_as_for_few(
    cast: Cast, root: Client, django_assert_max_num_queries: Any
) -> None:
    row = change_set(cast, *EVERY_KIND, whom="all")
    with django_assert_max_num_queries(40):
        assert root.get(f"{SETS}{row.pk}/change/").status_code == 200


def test_the_second_person_finds_what_waits(cast: Cast, root: Client, settings: Any) -> None:
    settings.ASSISTANT_CHANGE_SETS_BY_TWO = True
    row = change_set(cast, NEW_PROMPT)
    assert "Ask for approval" in root.get(f"{SETS}{row.pk}/change/").content.decode()
    assert "It waits for somebody else" in post(root, row, do="submit")
    assert "1 change set waits for approval" in root.get("/admin/").content.decode()
    cast.oscar.is_superuser = cast.oscar.is_staff = True
    cast.oscar.save()
    assert "It is on" in post(signed_in(cast.oscar), row, do="approve")


def test_the_audit_leads_to_the_set(cast: Cast, root: Client) -> None:
    row = submit(change_set=change_set(cast, NEW_PROMPT), actor=cast.root)
    page = root.get("/admin/assistant/auditentry/").content.decode()
    assert f'<a href="{SETS}{row.pk}/change/">Brief answers</a>' in page
    assert "Change set: begun" in page

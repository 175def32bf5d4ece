"""The frame of the control panel: rooms, the tenant picker and the search."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assistant.models import Membership, Run, ToolCall
from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.contrib.panel.conftest import say_something, signed_in
from tests.factories import make_assistant, make_conversation, make_run, make_tenant

ROOMS = ["Home", "Tenants", "Assistants", "Tools", "Conversations", "Inbox", "Spend", "Settings", "Advanced"]
ENTRIES = ["Overview", "Assistants", "Tools", "Conversations", "People and spend"]


def pick(client: Client, tenant: str, following: str = "/admin/") -> str:
    """Pick a tenant; return the address of the page that follows."""
    return client.post("/admin/pick-tenant/", {"tenant": tenant, "next": following}).headers["Location"]


def globex_run(cast: Cast) -> Run:
    conversation = make_conversation(cast.mallory, cast.rival_support, title="Opening a rival shop")
    return make_run(conversation, run_id="run-rival")


@pytest.mark.parametrize(
    ("path", "room"),
    [("/admin/", "Home"), ("/admin/assistant/run/", "Conversations"), ("/admin/advanced/", "Advanced")],
)
def test_every_page_shows_operators_the_rooms_and_marks_its_own(path: str, room: str, root: Client, cast: Cast) -> None:
    frame = root.get(path).context["panel"]
    assert [one.name for one in frame.rooms] == [*ROOMS[:4], "Data", *ROOMS[4:]]
    assert [one.name for one in frame.rooms if one.is_current] == [room]


@pytest.mark.parametrize(
    ("path", "entry"),
    [
        ("/admin/", "Overview"),
        ("/admin/assistant/run/", "Conversations"),
        ("/admin/assistant/approval/", "Conversations"),
        ("/admin/assistant/promptvariable/", "Assistants"),
        ("/admin/spend/", "People and spend"),
        ("/admin/assistant/provider/", "People and spend"),
    ],
)
def test_a_tenants_admin_has_five_entries(path: str, entry: str, amys: Client, cast: Cast) -> None:
    frame = amys.get(path).context["panel"]
    assert [one.name for one in frame.rooms] == ENTRIES
    assert [one.name for one in frame.rooms if one.is_current] == [entry]
    assert [amys.get(one.url, follow=True).status_code for one in frame.rooms] == [200] * 5


def test_an_admin_of_one_tenant_begins_with_its_people_and_its_name(amys: Client, cast: Cast) -> None:
    home = amys.get("/admin/")
    assert home.context["title"] == "Acme"
    people = amys.get(home.context["panel"].rooms[-1].url)
    assert people.context["tenant"] == cast.acme
    assert [one.name for one in people.context["panel"].rooms if one.is_current] == ["People and spend"]
    assert "Advanced" not in [one.name for one in home.context["panel"].rooms]


def test_what_is_about_the_program_stands_below_more(amys: Client, root: Client, cast: Cast) -> None:
    frame = amys.get(f"/admin/assistant/tenant/{cast.acme.pk}/people/").context["panel"]
    assert frame.pages[0].name == "People"
    assert {"Memberships", "Webhook deliveries", "Jobs", "Usage entries"} <= {page.name for page in frame.more}
    assert not {page.name for page in frame.pages} & {page.name for page in frame.more}
    assert "Tenant, person" not in amys.get("/admin/").content.decode()
    jobs = amys.get("/admin/assistant/job/")
    assert jobs.context["panel"].is_more_shown
    assert '<details class="panel-more" open>' in jobs.content.decode()
    assert root.get("/admin/assistant/job/").context["panel"].more == ()


def test_an_admin_of_two_tenants_has_the_same_entries_and_their_list(cast: Cast) -> None:
    Membership.objects.create(tenant=cast.globex, user=cast.amy, role=Membership.Role.ADMIN)
    home = signed_in(cast.amy).get("/admin/")
    assert [one.name for one in home.context["panel"].rooms] == ENTRIES
    assert home.context["panel"].rooms[-1].url == "/admin/assistant/tenant/"


def test_a_page_below_a_list_belongs_to_the_lists_room(root: Client, cast: Cast) -> None:
    frame = root.get(f"/admin/assistant/tenant/{cast.acme.pk}/change/").context["panel"]
    assert [room.name for room in frame.rooms if room.is_current] == ["Tenants"]
    assert "Memberships" in [page.name for page in frame.pages]


def test_the_picked_tenant_narrows_lists_until_all_are_shown_again(root: Client, cast: Cast) -> None:
    say_something(cast)
    globex_run(cast)
    assert pick(root, "globex", "/admin/assistant/run/") == "/admin/assistant/run/"
    assert {run.tenant for run in root.get("/admin/assistant/run/").context["cl"].result_list} == {cast.globex}
    pick(root, "")
    assert len(root.get("/admin/assistant/run/").context["cl"].result_list) == 2


def test_another_tenants_page_still_opens_by_its_address(root: Client, cast: Cast) -> None:
    run = globex_run(cast)
    pick(root, "acme")
    assert root.get(f"/admin/assistant/run/{run.pk}/change/").status_code == 200


def test_a_new_row_is_at_first_of_the_picked_tenant(root: Client, cast: Cast) -> None:
    pick(root, "globex")
    form = root.get("/admin/assistant/assistant/add/").context["adminform"].form
    assert form.initial["tenant"] == cast.globex.pk


def test_an_admin_cannot_pick_another_tenant(amys: Client, cast: Cast) -> None:
    assert pick(amys, "globex").startswith("/admin/assistant/tenant/?q=globex")
    assert "panel_tenant" not in amys.session


def test_a_pick_ends_with_the_membership(cast: Cast) -> None:
    Membership.objects.create(tenant=cast.globex, user=cast.amy, role=Membership.Role.ADMIN)
    amys = signed_in(cast.amy)
    run = globex_run(cast)
    pick(amys, "globex")
    assert run in amys.get("/admin/assistant/run/").context["cl"].result_list
    Membership.objects.filter(tenant=cast.globex, user=cast.amy).delete()
    assert list(amys.get("/admin/assistant/run/").context["cl"].result_list) == []


def test_a_pick_returns_to_this_site_only_and_needs_a_post(root: Client, cast: Cast) -> None:
    assert pick(root, "acme", "https://evil.example.com/") == "/admin/"
    assert root.get("/admin/pick-tenant/").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(cast.root)
    assert strict.post("/admin/pick-tenant/", {"tenant": "acme"}).status_code == 403


def test_with_many_tenants_the_picker_is_a_field(root: Client, cast: Cast) -> None:
    for _ in range(60):
        make_tenant()
    assert b"<datalist" in root.get("/admin/").content


def found(client: Client, text: str) -> dict[str, list[str]]:
    page = client.get("/admin/search/", {"q": text})
    assert page.status_code == 200
    return {str(title): [hit.name for hit, _ in hits] for title, hits, _ in page.context["found"]}


def test_the_search_finds_each_kind(root: Client, cast: Cast) -> None:
    run = say_something(cast)
    run.error_message = "Something went wrong on our side (error 0123456789ab)."
    run.save(update_fields=["error_message"])
    ToolCall.objects.filter(run=run).update(error_id="abcdefabcdef")
    assert found(root, "globe") == {"Tenants": ["Globex"]}
    assert found(root, "alic") == {"People": ["alice"]}
    assert found(root, "Opening hours") == {"Conversations": ["Opening hours"]}
    assert found(root, str(run.conversation_id)) == {"Conversations": ["Opening hours"]}
    assert found(root, run.run_id) == {"Runs": [str(run)]}
    assert found(root, "0123456789ab") == {"Runs": [str(run)]}
    assert found(root, "abcdefabcdef") == {"Tool calls": ["current_time (Running)"]}
    assert found(root, "current_tim") == {"Tools": ["current_time"]}


def test_a_key_is_found_by_its_name_and_by_what_leaked_of_it(root: Client, amys: Client, cast: Cast) -> None:
    key, secret = create_api_key(tenant=cast.acme, user=cast.alice, name="Back office")
    for text in ("back off", secret, secret[:20], key.prefix, key.prefix[:4]):
        assert found(amys, text)["API keys"] == [str(key)]
    _, other = create_api_key(tenant=cast.globex, user=cast.mallory, name="Front office")
    assert (found(amys, "front office"), found(amys, other)) == ({}, {})
    assert "API keys" in found(root, other)


@pytest.mark.parametrize("text", ["globex", "mallory", "rival", "run-rival"])
def test_an_admin_finds_nothing_of_another_tenant(text: str, amys: Client, cast: Cast) -> None:
    globex_run(cast)
    assert found(signed_in(cast.root), text) != {}
    assert found(amys, text) == {}


def test_the_search_is_narrowed_by_the_picker(root: Client, cast: Cast) -> None:
    globex_run(cast)
    pick(root, "acme")
    assert found(root, "rival") == {}


@pytest.mark.parametrize("text", ["", "a", "'; --", "\x00\x00\x00", "9" * 500, "%%%"])
def test_a_search_for_anything_is_answered(text: str, root: Client, cast: Cast) -> None:
    found(root, text)


def test_a_search_makes_no_more_queries_for_many_hits_and_shows_ten(root: Client, cast: Cast) -> None:
    counts = []
    for number in (3, 20):
        for _ in range(number):
            make_conversation(cast.alice, make_assistant(make_tenant()), title="Opening hours")
        with CaptureQueriesContext(connection) as queries:
            hits = found(root, "Opening hours")
        counts.append(len(queries))
    assert len(hits["Conversations"]) == 10
    assert counts[0] == counts[1]


def test_a_tenant_that_takes_anothers_slug_as_its_name_is_not_picked_for_it(root: Client, cast: Cast) -> None:
    cast.globex.name = "acme"
    cast.globex.save()
    pick(root, "acme")
    assert root.get("/admin/").context["panel"].picker.picked == cast.acme


def test_the_page_after_signing_out_names_no_tenant(root: Client, cast: Cast) -> None:
    page = root.post("/admin/logout/").content.decode()
    assert "Acme" not in page and "Globex" not in page

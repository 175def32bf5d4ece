"""The panel's lists: columns to choose, sums, a look at a row, and a file, of the tenants that one may see."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from assistant.contrib.panel.models import MAX_VIEWS, SavedView
from assistant.models import ApiKey, Conversation, Membership, Run, Tenant, ToolCall, UsageEntry
from assistant.models.tenants import ChatReading
from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.contrib.panel.conftest import fill, say_something, signed_in
from tests.factories import make_conversation, make_run

PAGES = [
    *("tenant", "assistant", "conversation", "run", "toolcall"),
    *("feedback", "approval", "membership", "apikey", "auditentry"),
]
RUNS = "/admin/assistant/run/"


def lines_of(client: Client, page: str, query: str = "") -> list[list[str]]:
    response = client.get(f"{page}?_csv=1{query}")
    assert response.status_code == 200 and response["Content-Type"].startswith("text/csv")
    return list(csv.reader(io.StringIO(response.content.decode("utf-8-sig"))))


def heads_of(client: Client, page: str, query: str = "") -> list[str]:
    text = client.get(page + query).content.decode().partition("<thead>")[2].partition("</thead>")[0]
    return [re.sub(r"<[^>]+>", "", one).strip() for one in re.findall(r'<div class="text">(.*?)</div>', text)]


def below(client: Client, page: str) -> str:
    return client.get(page).content.decode().partition("<tfoot>")[2].partition("</tfoot>")[0]


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest, cast: Cast) -> Iterator[str]:
    fill(cast, 2)
    yield f"/admin/assistant/{request.param}/"


@pytest.mark.parametrize("who", ["root", "amys"])
def test_each_list_has_a_bar_a_file_and_a_look_at_its_rows(page: str, who: str, request: pytest.FixtureRequest) -> None:
    client = request.getfixturevalue(who)
    text = client.get(page).content.decode()
    assert 'class="list-bar"' in text and 'class="list-file"' in text
    head, *rows = lines_of(client, page)
    assert head and (rows or "approval" in page)
    look = re.search(r'class="look" href="([^"]+)"', text)
    if look is not None:
        shown = client.get(page + look[1].replace("&amp;", "&"), headers={"X-Requested-With": "fetch"})
        assert shown.status_code == 200 and "look-facts" in shown.content.decode()
        assert "<html" not in shown.content.decode()


def test_nothing_is_called_is_active_and_states_are_words(page: str, root: Client) -> None:
    text = root.get(page).content.decode()
    assert "Is active" not in text and "icon-yes.svg" not in text and "icon-no.svg" not in text


def test_columns_are_chosen_and_stay_in_every_address(root: Client, cast: Cast) -> None:
    say_something(cast)
    assert "Model" not in heads_of(root, RUNS)
    assert heads_of(root, RUNS, "?_cols=model&_cols=state") == ["Started at", "Status", "Model", "Look"]
    text = root.get(f"{RUNS}?_cols=model&_cols=state").content.decode()
    links = re.findall(r'href="(\?[^"]*status__exact[^"]*)"', text)
    assert links and all("_cols=model" in one and "_cols=state" in one for one in links)
    assert heads_of(root, RUNS, "?_cols=nonsense")[0] == "Started at"
    assert lines_of(root, RUNS, "&_cols=model")[0] == ["Started at", "Model"]


def test_figures_below_a_list_are_of_all_rows_that_the_filters_leave(root: Client, cast: Cast) -> None:
    for _ in range(2):
        say_something(cast)
    Run.objects.update(input_tokens=1_000, output_tokens=10)
    UsageEntry.objects.update(cost=250_000)
    entries = UsageEntry.objects.filter(run__isnull=False).count()
    assert "Sum 2,000 in, 20 out" in below(root, RUNS)
    assert f"Sum USD {entries * 0.25:.2f}" in below(root, RUNS)
    assert below(root, f"{RUNS}?status__exact=failed") == ""


def test_a_file_has_the_rows_of_the_filters_moments_in_iso_and_no_markup(root: Client, cast: Cast) -> None:
    say_something(cast)
    make_run(make_conversation(cast.mallory, cast.rival_support))
    head, *rows = lines_of(root, RUNS, f"&tenant__id__exact={cast.acme.pk}")
    started = rows[0][head.index("Started at")]
    assert len(rows) == 1 and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", started)
    assert rows[0][head.index("Status")] == "Finished"
    assert "<" not in "".join(rows[0])


def test_files_and_looks_show_no_other_tenants_rows(amys: Client, cast: Cast) -> None:
    foreign = make_run(make_conversation(cast.mallory, cast.rival_support))
    assert len(lines_of(amys, RUNS)) == 1
    assert amys.get(f"{RUNS}?_look={foreign.pk}").status_code == 404
    assert amys.get(f"{RUNS}?_look=nonsense").status_code == 302


def test_a_member_without_a_permission_gets_neither(cast: Cast) -> None:
    alices = signed_in(cast.alice)
    say_something(cast)
    for query in ("_csv=1", f"_look={Run.objects.get().pk}"):
        assert alices.get(f"{RUNS}?{query}").status_code in (302, 403)


def test_a_look_shows_texts_only_where_they_may_be_read(root: Client, cast: Cast) -> None:
    say_something(cast)
    conversation = Conversation.objects.get()
    address = f"/admin/assistant/conversation/?_look={conversation.pk}"
    assert "At nine." in root.get(address).content.decode()
    Tenant.objects.update(chat_reading=ChatReading.REASON)
    hidden = root.get(address).content.decode()
    assert "At nine." not in hidden and "reading is restricted" in hidden


def test_a_view_is_saved_for_oneself_and_forgotten(root: Client, amys: Client, cast: Cast) -> None:
    say_something(cast)
    address = f"{RUNS}?status__exact=finished&_cols=model"
    assert root.post(address, {"_save_view": "Finished, by model"}).status_code == 302
    saved = SavedView.objects.get()
    assert (saved.user, saved.page, saved.query) == (cast.root, "assistant.run", "status__exact=finished&_cols=model")
    assert "Finished, by model" in root.get(RUNS).content.decode()
    assert "Finished, by model" not in amys.get(RUNS).content.decode()
    amys.post(RUNS, {"_forget_view": "Finished, by model"})
    assert SavedView.objects.exists()
    root.post(RUNS, {"_forget_view": "Finished, by model"})
    assert not SavedView.objects.exists()


@pytest.mark.parametrize("name", ["", " ", "n" * 61])
def test_a_view_without_a_good_name_is_not_saved(name: str, root: Client, cast: Cast) -> None:
    shown = root.post(RUNS, {"_save_view": name}, follow=True).content.decode()
    assert "A view needs a name" in shown and not SavedView.objects.exists()


def test_a_list_has_so_many_views_and_a_name_is_replaced(root: Client, cast: Cast) -> None:
    for number in range(MAX_VIEWS):
        root.post(f"{RUNS}?q={number}", {"_save_view": f"View {number}"})
    assert "Forget one first." in root.post(RUNS, {"_save_view": "one more"}, follow=True).content.decode()
    root.post(f"{RUNS}?q=again", {"_save_view": "View 3"})
    assert SavedView.objects.count() == MAX_VIEWS
    assert SavedView.objects.get(name="View 3").query == "q=again"


def test_the_palette_has_pages_and_what_is_found(root: Client, amys: Client, cast: Cast) -> None:
    pages = root.get("/admin/palette/").json()["groups"][0]["links"]
    assert {"Runs", "Switchboard"} <= {page["name"] for page in pages}
    found = {group["title"]: group["links"] for group in root.get("/admin/palette/?q=support").json()["groups"]}
    assert {"Assistants", "Prompts"} <= set(found)
    assert "Globex" in {link["belongsTo"] for link in found["Assistants"]}
    hers = {one["title"]: one["links"] for one in amys.get("/admin/palette/?q=support").json()["groups"]}
    assert {link["belongsTo"] for links in hers.values() for link in links} <= {"Acme"}
    assert signed_in(cast.alice).get("/admin/palette/").status_code == 302


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("toolcall", "Failed 1"),
        ("membership", "Active 2"),
        ("assistant", "On 1"),
        ("apikey", "Working 1"),
    ],
)
def test_lists_without_money_say_how_many_are_in_use(cast: Cast, amys: Client, name: str, figure: str) -> None:
    run = say_something(cast, tool="get_customer")
    ToolCall.objects.filter(run=run).update(status="error")
    create_api_key(tenant=cast.acme, user=cast.alice, name="gone", scopes=["chat"])
    ApiKey.objects.update(revoked_at=timezone.now())
    create_api_key(tenant=cast.acme, user=cast.alice, name="works", scopes=["chat"])
    assert figure in below(amys, f"/admin/assistant/{name}/")


def test_the_tenant_is_no_column_for_the_admin_of_one_but_can_be_chosen(cast: Cast, amys: Client, root: Client) -> None:
    fill(cast, 2)
    page = "/admin/assistant/assistant/"
    assert "Tenant" in heads_of(root, page)
    assert "Tenant" not in heads_of(amys, page)
    assert "Tenant" in heads_of(amys, page, "?_cols=name&_cols=tenant")
    amy = User.objects.get(username="amy")
    Membership.objects.create(tenant=cast.globex, user=amy, role=Membership.Role.ADMIN)
    assert "Tenant" in heads_of(amys, page)

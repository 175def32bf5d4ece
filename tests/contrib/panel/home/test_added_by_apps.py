"""What optional apps add to pages of the core: rooms, lists, needs, jobs, links, buttons, names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib import admin
from django.test import Client
from django.utils.html import format_html

from assistant.contrib.insights.models import SpendNotice
from assistant.contrib.panel.admin.base import action_titles, added_links, empty_lists, job_titles, rooms
from assistant.contrib.panel.admin.base.added_links import DraftButton
from assistant.contrib.panel.admin.home import home as home_page
from assistant.contrib.panel.reports import needs
from assistant.contrib.panel.reports.needs import Item
from assistant.models import Assistant, Incident, Job, PromptVersion, Run
from tests.base import Cast
from tests.contrib.panel.conftest import say_something

REGISTRIES = (
    (rooms, "_added"), (empty_lists, "EMPTY_LISTS"), (needs, "_added"), (home_page, "_KINDS"),
    (job_titles, "JOB_TITLES"), (job_titles, "JOB_PAGES"), (job_titles, "ON_OWN_PAGES"), (action_titles, "_ABOUT"),
    (added_links, "draft_buttons"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Each test ends with the registries as they were."""
    before = [(getattr(module, name), getattr(module, name).copy()) for module, name in REGISTRIES]
    links = {place: list(made) for place, made in added_links._links.items()}
    yield
    for registry, entries in before:
        registry.clear()
        registry.extend(entries) if isinstance(registry, list) else registry.update(entries)
    added_links._links.clear()
    added_links._links.update(links)


def pages(client: Client) -> list[str]:
    return [page.url for page in client.get("/admin/assistant/assistant/").context["panel"].pages]


def test_the_list_of_a_model_is_shown_in_a_room_after_another(root: Client, cast: Cast) -> None:
    rooms.show_in_room("assistants", Incident, after="promptversion")
    found = pages(root)
    assert found.index("/admin/assistant/incident/") == found.index("/admin/assistant/promptversion/") + 1


def test_an_empty_list_says_what_it_will_show(root: Client, cast: Cast) -> None:
    empty_lists.describe_empty_list("incident", "Nothing of the kind has happened.")
    assert "Nothing of the kind has happened." in root.get("/admin/assistant/incident/").content.decode()


def test_more_things_need_a_person(root: Client, cast: Cast) -> None:
    needs.look_for("untidy", lambda tenants: [Item("support", "Acme", cast.support.pk)])
    home_page.describe_need(
        "untidy",
        sentence=lambda n: "%(n)s assistant is untidy",
        every="assistant_assistant_changelist",
        page="assistant_assistant_change",
    )
    found = {need["sentence"]: need["items"] for need in root.get("/admin/").context["needs"]}
    assert found["1 assistant is untidy"] == [
        ("support", "Acme", f"/admin/assistant/assistant/{cast.support.pk}/change/")
    ]


def test_jobs_have_titles_and_lead_to_the_page_where_they_are_begun(root: Client, cast: Cast) -> None:
    job_titles.describe_job("test.tidy", "Tidy up", page=Assistant)
    job = Job.objects.create(
        tenant=cast.acme, name="test.tidy", key=str(cast.support.pk), state="failed", due_at=cast.acme.created_at
    )
    page = root.get("/admin/assistant/job/").content.decode()
    assert "Tidy up" in page and f"/admin/assistant/assistant/{cast.support.pk}/change/" in page
    root.post("/admin/assistant/job/", {"action": "retry", "_selected_action": [job.pk]})
    job.refresh_from_db()
    assert job.state == "failed"


def test_actions_are_named_by_what_they_are_about() -> None:
    assert action_titles.action_title("tidying.begin") == "Tidying: begun"
    action_titles.name_actions("tidying", "spring cleaning")
    assert action_titles.action_title("tidying.begin") == "Spring cleaning: begun"


def test_links_are_added_to_the_pages_of_an_assistant_its_prompt_and_a_run(root: Client, cast: Cast) -> None:
    def link(row: Assistant | Run) -> str:
        return format_html('<a href="/tidy/{}">Tidy up</a>', row.pk)

    added_links.add_link("assistant", lambda row: None)
    for place in ("assistant", "prompt", "run"):
        added_links.add_link(place, link)  # type: ignore[arg-type]
    run = say_something(cast)
    for path, pk in (
        (f"/admin/assistant/assistant/{cast.support.pk}/change/", cast.support.pk),
        (f"/admin/assistant/promptversion/editor/{cast.support.pk}/", cast.support.pk),
        (f"/admin/assistant/run/{run.pk}/change/", run.pk),
    ):
        assert f'<a href="/tidy/{pk}">Tidy up</a>' in root.get(path).content.decode(), path


def test_a_button_saves_the_draft_and_goes_on_to_an_address(root: Client, cast: Cast) -> None:
    added_links.add_draft_button("tidy", DraftButton("Save and tidy", lambda version: f"/tidy/{version.pk}/"))
    editor = f"/admin/assistant/promptversion/editor/{cast.support.pk}/"
    assert 'value="tidy" class="button">Save and tidy</button>' in root.get(editor).content.decode()
    answer = root.post(editor, {"do": "tidy", "text": "Be brief."})
    version = PromptVersion.objects.get(text="Be brief.")
    assert (answer.headers["Location"], version.status) == (f"/tidy/{version.pk}/", "draft")


def test_a_button_is_for_those_whom_it_is_shown(root: Client, amys: Client, cast: Cast) -> None:
    button = DraftButton("Save and tidy", lambda version: "/tidy/", lambda request: request.user == cast.root)
    added_links.add_draft_button("tidy", button)
    editor = f"/admin/assistant/promptversion/editor/{cast.support.pk}/"
    assert "Save and tidy" in root.get(editor).content.decode()
    assert "Save and tidy" not in amys.get(editor).content.decode()
    assert amys.post(editor, {"do": "tidy", "text": "Be brief."}).status_code == 404


def test_a_model_without_a_page_is_in_no_room(root: Client, cast: Cast) -> None:
    assert not admin.site.is_registered(SpendNotice)
    before = pages(root)
    rooms.show_in_room("assistants", SpendNotice, after="document")
    assert pages(root) == before

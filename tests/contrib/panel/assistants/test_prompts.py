"""Prompt versions: drafts can be edited, one is published, and published versions cannot be changed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from assistant.models import AuditEntry, PromptVersion
from assistant.services.assistants.configuration import find_assistant
from assistant.services.assistants.prompts import PromptNotEditableError, draft_prompt, edit_draft, publish_prompt
from tests.base import Cast

LIST = "/admin/assistant/promptversion/"


def published(cast: Cast) -> list[tuple[int, str]]:
    rows = cast.support.prompt_versions.filter(status=PromptVersion.Status.PUBLISHED)
    return list(rows.values_list("number", "text"))


def shown_in(page: str) -> list[str]:
    """Return what a page that asks sends along of what it shows."""
    return re.findall(r'name="shown" value="(\w+)"', page)


def confirm(client: Client, version: PromptVersion) -> HttpResponse:
    """Open the page that asks whether to publish a version, and press its button."""
    url = f"{LIST}{version.pk}/publish/"
    shown = shown_in(client.get(url).content.decode())
    return client.post(url, {"sure": "1", "shown": shown}, follow=True)


def test_a_draft_begins_with_the_published_text(amys: Client, cast: Cast) -> None:
    page = amys.get(f"{LIST}add/?assistant={cast.support.pk}").content.decode()
    assert "You are Acme&#x27;s support assistant." in page


@pytest.mark.parametrize("assistant", ["²", "x", "9" * 30, "-1"])
def test_a_draft_for_no_assistant_begins_empty(amys: Client, cast: Cast, assistant: str) -> None:
    assert amys.get(f"{LIST}add/", {"assistant": assistant}).status_code == 200


def test_a_new_version_is_a_draft_with_the_next_number(amys: Client, cast: Cast) -> None:
    amys.post(f"{LIST}add/", {"assistant": cast.support.pk, "text": "Be brief.", "note": "shorter"})
    version = cast.support.prompt_versions.first()
    assert version is not None
    assert (version.number, version.status, version.created_by) == (2, "draft", cast.amy)
    assert published(cast) == [(1, "You are Acme's support assistant.")]


def test_publishing_archives_the_previous_version(amys: Client, cast: Cast) -> None:
    version = draft_prompt(assistant=cast.support, text="Be brief.")
    asked = amys.get(f"{LIST}{version.pk}/publish/").content.decode()
    assert "Publish version 2 of Support (acme/support)?" in asked and "<ins>" in asked
    assert published(cast) == [(1, "You are Acme's support assistant.")]
    answer = confirm(amys, version)
    assert "is published" in answer.content.decode()
    assert published(cast) == [(2, "Be brief.")]
    assert cast.support.prompt_versions.get(number=1).status == PromptVersion.Status.ARCHIVED
    assert AuditEntry.objects.get(action="prompt.publish").actor == cast.amy


def test_the_next_run_uses_the_published_prompt(cast: Cast) -> None:
    publish_prompt(version=draft_prompt(assistant=cast.support, text="Be brief."))
    found = find_assistant(tenant_id=cast.acme.pk, slug="support")
    assert getattr(found, "published_text", None) == "Be brief."


def test_an_older_version_can_be_published_again(amys: Client, cast: Cast) -> None:
    publish_prompt(version=draft_prompt(assistant=cast.support, text="Be brief."))
    first = cast.support.prompt_versions.get(number=1)
    confirm(amys, first)
    assert published(cast) == [(1, first.text)]


def test_a_draft_is_edited(amys: Client, cast: Cast) -> None:
    version = draft_prompt(assistant=cast.support, text="Be brief.")
    amys.post(f"{LIST}{version.pk}/change/", {"assistant": cast.support.pk, "text": "Be kind.", "note": ""})
    version.refresh_from_db()
    assert version.text == "Be kind."


@pytest.mark.parametrize("page", ["change", "delete"])
def test_a_published_version_cannot_be_edited(root: Client, cast: Cast, page: str) -> None:
    version = cast.support.prompt_versions.get()
    data = {"assistant": cast.support.pk, "text": "Rewritten.", "note": "", "post": "yes"}
    assert root.post(f"{LIST}{version.pk}/{page}/", data).status_code == 403
    version.refresh_from_db()
    assert version.text == "You are Acme's support assistant."
    with pytest.raises(PromptNotEditableError):
        edit_draft(version=version, text="Rewritten.", note="")


def test_the_action_publishes_one_version_per_assistant(amys: Client, cast: Cast) -> None:
    drafts = [draft_prompt(assistant=cast.support, text=text).pk for text in ("One.", "Two.")]
    both = amys.post(LIST, {"action": "publish", "_selected_action": drafts}, follow=True)
    assert "Select only one version" in both.content.decode()
    chosen = {"action": "publish", "_selected_action": drafts[1:]}
    asked = amys.post(LIST, chosen).content.decode()
    assert "Publish version 3 of Support (acme/support)?" in asked and "<ins>Two</ins>" in asked
    assert published(cast) == [(1, "You are Acme's support assistant.")]
    amys.post(LIST, chosen | {"sure": "1", "shown": shown_in(asked)})
    assert published(cast) == [(3, "Two.")]


@pytest.mark.parametrize("meanwhile", ["edited", "published", "nothing was shown"])
@pytest.mark.parametrize("way", ["page", "action"])
def test_what_has_changed_since_it_was_shown_is_asked_about_again(
    amys: Client, cast: Cast, meanwhile: str, way: str
) -> None:
    draft = draft_prompt(assistant=cast.support, text="Be brief.")
    url = f"{LIST}{draft.pk}/publish/"
    form: dict[str, Any] = {"action": "publish", "_selected_action": [draft.pk], "sure": "1"}
    if meanwhile != "nothing was shown":
        form["shown"] = shown_in(amys.get(url).content.decode())
    if meanwhile == "edited":
        edit_draft(version=draft, text="Shout.", note="")
    elif meanwhile == "published":
        publish_prompt(version=draft_prompt(assistant=cast.support, text="Shout."))
    before = published(cast)
    address = url if way == "page" else LIST
    page = amys.post(address, form, follow=True).content.decode()
    assert published(cast) == before
    assert "Publish version 2 of" in page and "has changed since" in page
    assert ("Shout" in page) == (meanwhile != "nothing was shown")
    amys.post(address, form | {"shown": shown_in(page)})
    assert published(cast) == [(2, "Shout." if meanwhile == "edited" else "Be brief.")]


def test_of_several_versions_those_that_are_as_shown_are_published(root: Client, cast: Cast) -> None:
    drafts = [draft_prompt(assistant=one, text="Be brief.") for one in (cast.support, cast.rival_support)]
    form: dict[str, Any] = {"action": "publish", "_selected_action": [one.pk for one in drafts]}
    form["shown"] = shown_in(root.post(LIST, form).content.decode())
    edit_draft(version=drafts[0], text="Shout.", note="")
    page = root.post(LIST, form | {"sure": "1"}, follow=True).content.decode()
    assert "Publish version 2 of Support (acme/support)?" in page
    assert "Publish version 2 of Support (globex/support)?" not in page
    assert published(cast) == [(1, "You are Acme's support assistant.")]
    assert cast.rival_support.prompt_versions.get(status="published").number == 2


def test_a_rivals_version_cannot_be_published(amys: Client, cast: Cast) -> None:
    version = draft_prompt(assistant=cast.rival_support, text="Betray.")
    assert amys.post(f"{LIST}{version.pk}/publish/").status_code == 404
    assert amys.get(f"{LIST}{version.pk}/publish/").status_code == 404
    version.refresh_from_db()
    assert version.status == PromptVersion.Status.DRAFT


def test_a_first_version_is_asked_about_too(amys: Client, cast: Cast) -> None:
    cast.support.prompt_versions.all().delete()
    version = draft_prompt(assistant=cast.support, text="Be brief.")
    asked = amys.get(f"{LIST}{version.pk}/publish/").content.decode()
    assert "No version is published yet." in asked and "Be brief." in asked
    assert published(cast) == []


def test_one_button_saves_what_was_typed_and_asks_whether_to_publish_it(amys: Client, cast: Cast) -> None:
    draft = draft_prompt(assistant=cast.support, text="Be brief.")
    page = f"{LIST}{draft.pk}/change/"
    shown = amys.get(page).content.decode()
    assert 'name="_publish"' in shown and f"{LIST}{draft.pk}/publish/" not in shown
    form = {"assistant": cast.support.pk, "text": "Be very brief.", "note": "", "_publish": "1"}
    asked = amys.post(page, form, follow=True)
    assert "Publish version 2 of" in asked.content.decode()
    draft.refresh_from_db()
    assert (draft.text, draft.status) == ("Be very brief.", "draft")
    amys.post(asked.request["PATH_INFO"], {"sure": "1", "shown": shown_in(asked.content.decode())})
    assert published(cast) == [(2, "Be very brief.")]
    assert [row.action for row in AuditEntry.objects.order_by("pk")][-2:] == ["prompt.edit", "prompt.publish"]


def test_a_new_version_is_saved_and_asked_about(amys: Client, cast: Cast) -> None:
    assert 'name="_publish"' in amys.get(f"{LIST}add/").content.decode()
    form = {"assistant": cast.support.pk, "text": "Be kind.", "note": "", "_publish": "1"}
    asked = amys.post(f"{LIST}add/", form, follow=True)
    assert "Publish version 2 of" in asked.content.decode()
    assert published(cast) == [(1, "You are Acme's support assistant.")]


def test_what_cannot_be_saved_is_not_published(amys: Client, cast: Cast) -> None:
    amys.post(f"{LIST}add/", {"assistant": cast.rival_support.pk, "text": "Mine.", "_publish": "1"})
    amys.post(f"{LIST}add/", {"assistant": cast.support.pk, "text": "", "_publish": "1"})
    assert published(cast) == [(1, "You are Acme's support assistant.")]
    assert cast.rival_support.prompt_versions.count() == 1

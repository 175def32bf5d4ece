"""The page of an assistant: its tabs, who may open them, what they show, and the test beside the prompt."""

from __future__ import annotations

import pytest
from django.test import Client

from assistant.contrib.panel.admin.assistants import try_chat
from assistant.models import AuditEntry, CustomRole, Document, Feedback, Membership, PromptVersion, Run
from assistant.services.assistants.prompts import draft_prompt, publish_prompt
from tests.base import Cast
from tests.contrib.panel.conftest import say_something, signed_in
from tests.factories import make_member, switch_tool

pytestmark = pytest.mark.django_db


def editor(cast: Cast) -> str:
    return f"/admin/assistant/promptversion/editor/{cast.support.pk}/"


def tab(cast: Cast, slug: str) -> str:
    return f"/admin/assistant/assistant/{cast.support.pk}/{slug}/"


def test_every_tab_leads_to_all_others_and_the_list_to_the_first(amys: Client, cast: Cast) -> None:
    tabs = amys.get(editor(cast)).context["assistant_tabs"]
    assert [link.name for link in tabs] == [
        "Prompt", "Quality", "What changed?", "Conversations", "Improvements", "Tools", "Knowledge", "Settings",
        "Changes",
    ]  # fmt: skip
    for link in tabs:
        page = amys.get(link.url)
        assert page.status_code == 200, link.url
        assert [one.url for one in page.context["assistant_tabs"]] == [one.url for one in tabs]
        assert [one.name for one in page.context["assistant_tabs"] if one.is_current] == [link.name]
    assert tabs[0].url in amys.get("/admin/assistant/assistant/").content.decode()


@pytest.mark.parametrize("slug", ["conversations", "tools", "knowledge", "changes"])
def test_another_tenants_assistant_has_no_page(amys: Client, cast: Cast, slug: str) -> None:
    assert amys.get(f"/admin/assistant/assistant/{cast.rival_support.pk}/{slug}/").status_code == 404
    assert amys.get(f"/admin/assistant/assistant/{2**64}/{slug}/").status_code == 404
    assert amys.post(tab(cast, slug)).status_code == 405


def test_a_role_sees_its_tabs_only(cast: Cast) -> None:
    writer = make_member(cast.acme, "wim", is_staff=True)
    role = CustomRole.objects.create(tenant=cast.acme, name="Writer", prompts=True)
    Membership.objects.get(user=writer).custom_roles.add(role)
    browser = signed_in(writer)
    tabs = browser.get(editor(cast)).context["assistant_tabs"]
    assert [link.name for link in tabs] == ["Prompt", "Quality", "What changed?", "Improvements"]
    assert browser.get(tab(cast, "conversations")).status_code == 404


def test_conversations_say_what_went_wrong(amys: Client, cast: Cast) -> None:
    say_something(cast)
    Feedback.objects.update(rating=-1)
    Run.objects.update(status=Run.Status.FAILED)
    html = amys.get(tab(cast, "conversations")).content.decode()
    assert "disliked" in html
    assert "failed" in html


def test_tools_documents_and_changes_are_those_of_the_assistant(amys: Client, cast: Cast) -> None:
    switch_tool(cast.acme, "current_time", "on")
    switch_tool(cast.acme, "current_time", "off", assistant=cast.support)
    states = {row.name: policy for row, policy, _rule in amys.get(tab(cast, "tools")).context["rows"]}
    assert states["current_time"] == "off"
    for tenant in (cast.acme, cast.globex):
        Document.objects.create(tenant=tenant, title=f"Terms of {tenant.name}", text="...")
    html = amys.get(tab(cast, "knowledge")).content.decode()
    assert "Terms of Acme" in html
    assert "Terms of Globex" not in html
    for target in ("support v1", "sales v1"):
        AuditEntry.objects.create(tenant=cast.acme, actor=cast.amy, action="prompt.publish", target=target)
    rows = amys.get(tab(cast, "changes")).context["rows"]
    assert [entry.target for entry, _title, _change in rows] == ["support v1"]


def test_settings_are_four_groups_of_which_two_are_closed(amys: Client, cast: Cast) -> None:
    page = amys.get(f"/admin/assistant/assistant/{cast.support.pk}/change/")
    groups = [(str(one.name or ""), "collapse" in one.classes) for one in page.context["adminform"]]
    assert groups == [("", False), ("Answers", False), ("In the chat", True), ("Limits and programs", True)]
    assert "max_rounds" in page.context["adminform"].form.fields


def test_what_is_typed_is_saved_once_and_tried(amys: Client, cast: Cast) -> None:
    typed = {"do": "try-here", "text": "Be brief.", "label": "", "note": ""}
    first = amys.post(editor(cast), typed).json()
    version = PromptVersion.objects.get(pk=first["version"])
    assert (version.text, version.status) == ("Be brief.", "draft")
    again = amys.post(editor(cast), {**typed, "draft": first["draft"], "seen": first["seen"]}).json()
    assert again == first
    longer = amys.post(
        editor(cast), {**typed, "text": "Be long.", "draft": first["draft"], "seen": first["seen"]}
    ).json()
    assert (longer["version"], PromptVersion.objects.get(pk=version.pk).text) == (version.pk, "Be long.")


def test_a_published_text_is_tried_as_it_is(amys: Client, cast: Cast) -> None:
    publish_prompt(version=draft_prompt(assistant=cast.support, text="Be kind."))
    before = PromptVersion.objects.count()
    found = amys.post(editor(cast), {"do": "try-here", "text": "Be kind.", "label": "", "note": ""}).json()
    assert found["draft"] is None
    assert PromptVersion.objects.get(pk=found["version"]).status == "published"
    assert PromptVersion.objects.count() == before


def test_what_cannot_be_saved_is_said(amys: Client, cast: Cast) -> None:
    answer = amys.post(editor(cast), {"do": "try-here", "text": "{{ nobody }}", "label": "", "note": ""})
    assert answer.status_code == 400
    assert "nobody" in answer.json()["problems"][0]


def test_operators_who_are_no_members_choose_one_and_are_told_so_where_nothing_tries_as_others(
    root: Client, amys: Client, cast: Cast, settings: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = root.get(editor(cast)).content.decode()
    assert 'id="try-user"' in page
    assert 'data-self=""' in page
    monkeypatch.setattr(try_chat, "_try_as", "")
    assert "you are not a member of Acme" in root.get(editor(cast)).content.decode()
    assert 'id="try-question"' in amys.get(editor(cast)).content.decode()
    settings.ASSISTANT_PROMPT_TESTS = False  # type: ignore[attr-defined]
    assert 'id="try-question"' not in amys.get(editor(cast)).content.decode()

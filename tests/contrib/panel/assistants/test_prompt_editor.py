"""The editor of a prompt: one button saves and publishes, nothing that was typed is lost, and one click rolls back."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.contrib.panel.services.scheduled_prompts import schedule_publication
from assistant.models import Assistant, AuditEntry, Feedback, Job, PromptVariable, PromptVersion
from assistant.services.assistants.prompts import draft_prompt, edit_draft, publish_prompt
from tests.base import Cast
from tests.contrib.panel.conftest import signed_in
from tests.contrib.panel.tenants.test_custom_roles import holder
from tests.factories import make_conversation, make_member, make_message, make_run
from tests.services.jobs.due_jobs import do_due_jobs

PUBLISHED = "You are Acme's support assistant."


def editor(assistant: Assistant, page: str = "") -> str:
    return f"/admin/assistant/promptversion/editor/{assistant.pk}/{page}"


def press(client: Client, assistant: Assistant, do: str, **fields: Any) -> str:
    """Press a button of the editor as a browser does, with all fields of the form; return the page that follows.

    A button of a question is pressed below what the question shows now.
    """
    shown = client.get(editor(assistant)).context["form"]
    form = {name: shown[name].value() or "" for name in shown.fields} | fields
    if do.partition(":")[0] in ("publish", "publish-typed", "schedule"):
        form = {"shown": asked_state(client, assistant, do, form), **form}
    answer = client.post(editor(assistant), {**form, "do": do}, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def asked_state(client: Client, assistant: Assistant, do: str, form: dict[str, Any]) -> str:
    """Open the question before a button of its own; return the state that it shows, "" if nothing is asked."""
    number = do.partition(":")[2]
    answer = client.post(editor(assistant), {**form, "do": f"ask:{number}" if number else "ask"})
    question = answer.context["publication"]
    return "" if question is None else str(question.shown)


def versions(cast: Cast) -> list[tuple[int, str, str]]:
    return list(cast.support.prompt_versions.order_by("number").values_list("number", "status", "text"))


def test_the_editor_begins_with_the_published_text_and_then_with_the_newest_draft(amys: Client, cast: Cast) -> None:
    assert amys.get(editor(cast.support)).context["form"]["text"].value() == PUBLISHED
    draft_prompt(assistant=cast.support, text="Be brief.", note="shorter")
    form = amys.get(editor(cast.support)).context["form"]
    assert (form["text"].value(), form["note"].value()) == ("Be brief.", "shorter")
    assert amys.get(editor(cast.support), {"version": 1}).context["form"]["text"].value() == PUBLISHED


def test_one_button_saves_and_publishes(amys: Client, cast: Cast) -> None:
    page = press(amys, cast.support, "publish-typed", text="Be brief.\r\nBe kind.", label="summer")
    assert "is published" in page
    assert versions(cast) == [(1, "archived", PUBLISHED), (2, "published", "Be brief.\nBe kind.")]
    published = AuditEntry.objects.get(action="prompt.publish")
    assert (published.actor, published.details["values"]) == (cast.amy, {"published version": ["1", "2"]})


def test_the_difference_is_shown_before_anything_is_published(amys: Client, cast: Cast) -> None:
    page = press(amys, cast.support, "ask", text="Be brief.")
    assert "Publish what you typed?" in page
    assert "It has about 3 tokens" in page
    assert "prompt-difference" in page
    assert 'value="publish-typed"' in page
    draft_prompt(assistant=cast.support, text="Be briefer.")
    page = press(amys, cast.support, "ask:2", text="Half a thought")
    assert "Publish version 2?" in page
    assert 'value="publish:2"' in page
    assert "Half a thought" in page
    assert versions(cast) == [(1, "published", PUBLISHED), (2, "draft", "Be briefer.")]
    page = press(amys, cast.support, "later", text="Half a thought")
    assert "Half a thought" in page
    assert "Publish now" not in page


def test_a_wrong_text_is_corrected_before_it_is_asked_about(amys: Client, cast: Cast) -> None:
    page = press(amys, cast.support, "ask", text="Open {{ hours }}.")
    assert "Publish now" not in page
    assert "hours" in page
    assert amys.post(editor(cast.support), {"do": "ask:99", "text": "x"}).status_code == 404


def test_a_draft_is_saved_and_then_edited_and_not_made_again(amys: Client, cast: Cast) -> None:
    press(amys, cast.support, "save", text="Be brief.")
    press(amys, cast.support, "save", text="Be briefer.", note="n")
    assert versions(cast) == [(1, "published", PUBLISHED), (2, "draft", "Be briefer.")]
    entry = AuditEntry.objects.get(action="prompt.edit")
    assert entry.details["values"] == {"characters": ["9", "11"], "note": [None, "n"]}


@pytest.mark.parametrize("meanwhile", ["edited", "published", "deleted"])
@pytest.mark.parametrize("do", ["save", "publish-typed"])
def test_what_was_typed_is_kept_whatever_others_do_to_the_draft(
    amys: Client, cast: Cast, meanwhile: str, do: str
) -> None:
    draft = draft_prompt(assistant=cast.support, text="Be brief.")
    shown = amys.get(editor(cast.support)).context["form"]
    form = {name: shown[name].value() or "" for name in shown.fields}
    if meanwhile == "edited":
        edit_draft(version=draft, text="Be loud.", note="")
    elif meanwhile == "published":
        publish_prompt(version=draft)
    else:
        draft.delete()
    form |= {"text": "Be kind."}
    form["shown"] = asked_state(amys, cast.support, do, form)
    page = amys.post(editor(cast.support), {**form, "do": do}, follow=True).content.decode()
    assert "Somebody has changed, published or deleted that draft" in page
    texts = [text for _, _, text in versions(cast)]
    assert "Be kind." in texts
    assert {"edited": "Be loud.", "published": "Be brief.", "deleted": PUBLISHED}[meanwhile] in texts


def test_a_roll_back_shows_the_difference_and_asks(amys: Client, cast: Cast) -> None:
    publish_prompt(version=draft_prompt(assistant=cast.support, text="Be brief."))
    shown = amys.get(editor(cast.support)).content.decode()
    assert 'value="ask:1"' in shown and 'value="publish:1"' not in shown
    asked = press(amys, cast.support, "ask:1")
    assert "Publish version 1?" in asked and 'value="publish:1"' in asked and "prompt-difference" in asked
    assert versions(cast)[1] == (2, "published", "Be brief.")
    page = press(amys, cast.support, "publish:1")
    assert "Version 1 of" in page and "What you typed is still here" not in page
    assert versions(cast) == [(1, "published", PUBLISHED), (2, "archived", "Be brief.")]


@pytest.mark.parametrize("do", ["publish:1", "label:1", "schedule:1", "cancel:1", "preview"])
def test_other_buttons_keep_what_was_typed(amys: Client, cast: Cast, do: str) -> None:
    publish_prompt(version=draft_prompt(assistant=cast.support, text="Be brief."))
    page = press(amys, cast.support, do, text="Not saved <yet>.")
    assert "Not saved &lt;yet&gt;." in page
    assert "data-unsaved" in page
    assert not cast.support.prompt_versions.filter(text__contains="Not saved").exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{{ weather }}", "There is no variable {{ weather }}."),
        ("{{ today", "Two opening braces begin no variable here."),
        ("", "This field is required."),
        ("  ", "Write a prompt first."),
        ("x" * 100_001, "at most 100000 characters"),
    ],
)
@pytest.mark.parametrize("do", ["save", "publish-typed", "preview"])
def test_a_wrong_prompt_is_an_error_and_shown_again(
    amys: Client, cast: Cast, do: str, text: str, sentence: str
) -> None:
    page = press(amys, cast.support, do, text=text)
    assert sentence in page and (text in page or not text.strip())
    assert versions(cast) == [(1, "published", PUBLISHED)]


def test_the_version_pages_refuse_unknown_variables_too(amys: Client, cast: Cast) -> None:
    form = {"assistant": cast.support.pk, "text": "{{ weather }}", "label": "", "note": "", "_publish": "1"}
    assert "There is no variable" in amys.post("/admin/assistant/promptversion/add/", form).content.decode()
    assert versions(cast) == [(1, "published", PUBLISHED)]


def test_a_text_that_is_older_than_variables_is_escaped_for_the_next_version(amys: Client, cast: Cast) -> None:
    PromptVersion.objects.filter(assistant=cast.support).update(text="Fill {{ name }} in.")
    assert amys.get(editor(cast.support)).context["form"]["text"].value() == r"Fill \{{ name }} in."
    press(amys, cast.support, "publish-typed")
    version = cast.support.prompt_versions.get(status="published")
    assert (version.number, version.uses_variables) == (2, True)


def test_the_preview_is_resolved_for_the_chosen_member(amys: Client, cast: Cast) -> None:
    PromptVariable.objects.create(tenant=cast.acme, name="hours", value="<nine>")
    text = "Open {{ hours }}. {{ user.name }}"
    page = press(amys, cast.support, "preview", text=text, user="alice")
    assert "Open &lt;nine&gt;. &lt;user.name&gt;" in page and "user.name: alice" in page
    assert "<del>" in page and "<ins>" in page
    for stranger in ("mallory", "nobody", "\x00", ""):
        page = press(amys, cast.support, "preview", text=text, user=stranger)
        assert "Choose a member of this tenant." in page and "Open &lt;nine&gt;" not in page
    assert versions(cast) == [(1, "published", PUBLISHED)]


def test_a_published_version_gets_a_label_and_keeps_its_text(amys: Client, cast: Cast) -> None:
    page = press(amys, cast.support, "label:1", **{"label-1": " before \n sale <b> "})
    assert "before sale &lt;b&gt;" in page
    assert cast.support.prompt_versions.get().label == "before sale <b>"
    assert AuditEntry.objects.get(action="prompt.label").details["values"] == {"label": [None, "before sale <b>"]}
    assert "at most 60" in press(amys, cast.support, "label:1", **{"label-1": "x" * 61})


def test_a_publication_is_scheduled_in_the_tenants_zone_shown_and_cancelled(amys: Client, cast: Cast) -> None:
    draft_prompt(assistant=cast.support, text="Sale!")
    at = (timezone.now() + timedelta(days=10)).astimezone(ZoneInfo("Europe/Vienna")).replace(hour=8, minute=30)
    asked = press(amys, cast.support, "ask-at:2", **{"at-2": f"{at:%Y-%m-%dT%H:%M}"})
    assert "Publish version 2?" in asked and 'value="schedule:2"' in asked and "prompt-difference" in asked
    assert not Job.objects.exists()
    page = press(amys, cast.support, "schedule:2", at=f"{at:%Y-%m-%dT%H:%M}", **{"at-2": ""})
    assert f"Version 2 will be published on {at:%Y-%m-%d} 08:30 (Europe/Vienna)." in page
    assert Job.objects.get().due_at == at.replace(second=0, microsecond=0)
    assert AuditEntry.objects.get(action="prompt.schedule").actor == cast.amy
    assert "will not be published" in press(amys, cast.support, "cancel:2")
    assert Job.objects.get().state == "cancelled"
    assert AuditEntry.objects.get(action="prompt.unschedule").details["values"]["publication"][1] is None


@pytest.mark.parametrize("at", ["", "soon", "2020-01-01T08:00", "2999-01-01T08:00", "2027-03-28T02:30"])
def test_a_moment_that_is_none_is_refused(amys: Client, cast: Cast, at: str) -> None:
    """The last one is left out in Vienna, where clocks are put forward."""
    assert 'class="error"' in press(amys, cast.support, "schedule:1", at=at)
    assert not Job.objects.exists()


@pytest.mark.parametrize("do", ["ask-at:3", "schedule:3"])
def test_the_moment_of_a_question_is_that_of_its_version_alone(amys: Client, cast: Cast, do: str) -> None:
    """The question about version 2 is open, and *Schedule* is pressed beside version 3, which has no moment."""
    draft_prompt(assistant=cast.support, text="Sale!")
    draft_prompt(assistant=cast.support, text="Not yet seen.")
    at = f"{timezone.now() + timedelta(days=10):%Y-%m-%dT%H:%M}"
    form = {"at": at, "at-2": at, "at-3": "", "shown": asked_state(amys, cast.support, "ask:2", {"text": "x"})}
    page = amys.post(editor(cast.support), {**form, "text": "x", "do": do}, follow=True).content.decode()
    assert not Job.objects.exists()
    assert ("Publish version 3?" in page) == (do == "schedule:3")
    assert 'class="error"' in page or do == "schedule:3"


@pytest.mark.parametrize("meanwhile", ["edited", "published"])
@pytest.mark.parametrize("do", ["publish:2", "schedule:2", "publish-typed"])
def test_what_has_changed_since_it_was_shown_is_asked_about_again(
    amys: Client, cast: Cast, meanwhile: str, do: str
) -> None:
    draft = draft_prompt(assistant=cast.support, text="Be brief.")
    form = {"text": "Half a thought", "at": f"{timezone.now() + timedelta(days=10):%Y-%m-%dT%H:%M}"}
    form["shown"] = asked_state(amys, cast.support, do, form)
    if meanwhile == "published":
        publish_prompt(version=draft_prompt(assistant=cast.support, text="Shout."))
    elif do == "publish-typed":
        form["text"] = "Another thought"
    else:
        edit_draft(version=draft, text="Shout.", note="")
    before = versions(cast)
    answer = amys.post(editor(cast.support), {**form, "do": do})
    page = answer.content.decode()
    assert "has changed since" in page
    assert ("Shout" in page) == (form["text"] == "Half a thought")
    assert f'value="{do}"' in page and form["text"] in page
    assert versions(cast) == before and not Job.objects.exists()
    form["shown"] = answer.context["publication"].shown
    amys.post(editor(cast.support), {**form, "do": do}, follow=True)
    assert versions(cast) != before or Job.objects.exists()


def test_a_failed_publication_is_shown(amys: Client, cast: Cast) -> None:
    hours = PromptVariable.objects.create(tenant=cast.acme, name="hours", value="nine")
    draft = draft_prompt(assistant=cast.support, text="{{ hours }}")
    schedule_publication(version=draft, at=timezone.now() + timedelta(hours=1))
    Job.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    hours.delete()
    do_due_jobs()
    assert "Version 2 was not published on" in amys.get(editor(cast.support)).content.decode()
    assert "its variables are gone" in press(amys, cast.support, "publish:2")


def test_two_versions_stand_side_by_side(amys: Client, cast: Cast) -> None:
    draft_prompt(assistant=cast.support, text="You are <Acme>'s sales assistant.\nBe kind.")
    answer = amys.get(editor(cast.support, "compare/"), {"old": 1, "new": 2})
    page = answer.content.decode()
    assert "<del>support</del>" in page and "<ins>sales</ins>" in page and "&lt;" in page and "<Acme>" not in page
    assert (answer.context["difference"].removed, answer.context["difference"].added) == (1, 2)
    assert amys.get(editor(cast.support, "compare/")).context["old"].number == 1
    for query in ({"old": "x"}, {"old": "9" * 30}, {"old": "77", "new": "-1"}, {"old": "²"}):
        assert amys.get(editor(cast.support, "compare/"), query).status_code == 200


def test_a_prompt_without_versions_is_written_in_the_editor(amys: Client, cast: Cast) -> None:
    cast.support.prompt_versions.all().delete()
    assert "There is nothing to compare yet" in amys.get(editor(cast.support, "compare/")).content.decode()
    assert "There is no version yet" in amys.get(editor(cast.support)).content.decode()
    press(amys, cast.support, "publish-typed", text="Be kind.")
    assert versions(cast) == [(1, "published", "Be kind.")]


def test_nothing_of_a_rivals_prompt_is_seen_or_changed(amys: Client, cast: Cast) -> None:
    draft_prompt(assistant=cast.rival_support, text="Betray.")
    before = list(PromptVersion.objects.order_by("pk").values())
    for page in ("", "compare/"):
        assert amys.get(editor(cast.rival_support, page)).status_code == 404
    for do in ("save", "publish-typed", "preview", "publish:2", "label:2", "schedule:2", "ask-at:2", "cancel:2"):
        form = {"do": do, "text": "Mine.", "label-2": "mine", "at-2": "2027-01-01T08:00"}
        assert amys.post(editor(cast.rival_support), form).status_code == 404
    stolen = PromptVersion.objects.get(text="Betray.")
    press(amys, cast.support, "save", text="Mine.", draft=stolen.pk)
    rows = list(PromptVersion.objects.order_by("pk").values())
    assert rows[: len(before)] == before and rows[-1]["assistant_id"] == cast.support.pk
    assert not Job.objects.exists()


def test_unknown_buttons_versions_and_assistants_do_not_exist(amys: Client, cast: Cast) -> None:
    for do in ("", "fly", "publish:", "publish:7", "publish:²", f"publish:{'9' * 40}", "label:0"):
        assert amys.post(editor(cast.support), {"do": do}).status_code == 404
    assert amys.get(f"/admin/assistant/promptversion/editor/{2**70}/").status_code == 404


def test_the_permission_for_prompts_opens_the_editor_in_its_tenant_only(cast: Cast) -> None:
    client = holder(cast, "prompts")
    press(client, cast.support, "publish-typed", text="Be kind.")
    assert versions(cast)[-1] == (2, "published", "Be kind.")
    frame = client.get(editor(cast.support)).context["panel"]
    assert [room.name for room in frame.rooms if room.is_current] == ["Assistants"]
    assert client.get(editor(cast.rival_support)).status_code == 404
    for other in (holder(cast, "tools"), holder(cast, "keys", "people", "spend", "read_chats", "approvals")):
        assert other.get(editor(cast.support)).status_code == 404
        assert other.post(editor(cast.support), {"do": "publish:1"}).status_code == 404
    assert signed_in(make_member(cast.acme)).get(editor(cast.support)).status_code == 302


def test_the_editor_needs_the_csrf_token(cast: Cast) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(cast.amy)
    assert strict.post(editor(cast.support), {"do": "publish-typed", "text": "Mine."}).status_code == 403


def test_the_editor_makes_no_more_queries_for_many_versions(amys: Client, cast: Cast) -> None:
    def fill(number: int) -> None:
        for index in range(number):
            version = draft_prompt(assistant=cast.support, text="x", actor=make_member(cast.acme))
            schedule_publication(version=version, at=timezone.now() + timedelta(hours=1 + index))
            PromptVariable.objects.create(tenant=cast.acme, name=f"v{version.pk}", value="x")

    counts = []
    for number in (2, 8):
        fill(number)
        with CaptureQueriesContext(connection) as queries:
            assert amys.get(editor(cast.support)).status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 23


def test_versions_carry_their_figures(amys: Client, cast: Cast) -> None:
    first = cast.support.prompt_versions.get()
    talk = make_conversation(cast.alice, cast.support)
    for rating, status in ((1, "completed"), (-1, "completed"), (-1, "failed")):
        run = make_run(talk, prompt_version=first, status=status)
        answer = make_message(talk, "assistant", "At nine.", run=run)
        Feedback.objects.create(tenant=cast.acme, user=cast.alice, message=answer, rating=rating)
    make_run(talk, prompt_version=first, is_test=True)
    page = amys.get(editor(cast.support)).content.decode()
    assert "3 runs in 90 days, 33 % failed, 1 liked, 2 disliked" in page


def test_a_rollback_keeps_when_a_version_was_published_before(amys: Client, cast: Cast) -> None:
    first = cast.support.prompt_versions.get()
    publish_prompt(version=draft_prompt(assistant=cast.support, text="Another."), actor=cast.amy)
    publish_prompt(version=first, actor=cast.amy)
    publish_prompt(version=first, actor=cast.amy)
    entries = AuditEntry.objects.filter(action="prompt.publish", target="support v1").order_by("pk")
    for entry, day in zip(entries, (1, 5, 9), strict=False):
        AuditEntry.objects.filter(pk=entry.pk).update(created_at=datetime(2026, 7, day, 12, 0, tzinfo=ZoneInfo("UTC")))
    page = amys.get(editor(cast.support)).content.decode()
    assert "published 2026-07-01 14:00, again 2026-07-05 14:00" in page


def test_times_are_the_tenants(amys: Client, cast: Cast) -> None:
    PromptVersion.objects.update(published_at=datetime(2026, 7, 1, 12, 0, tzinfo=ZoneInfo("UTC")))
    page = amys.get(editor(cast.support)).content.decode()
    assert "published 2026-07-01 14:00" in page and "Europe/Vienna" in page

"""The audit: one line for each act, an undo named as one, links to what was changed, and a file."""

from __future__ import annotations

import csv
import io

import pytest
from django.test import Client

from assistant.contrib.panel.services.undone_switches import lead_change, undo_change
from assistant.models import AuditEntry, Tenant
from assistant.services.assistants.prompts import draft_prompt, publish_prompt
from assistant.services.toolpolicy.switch_changes import Target, set_switches
from tests.base import Cast
from tests.factories import make_conversation

pytestmark = pytest.mark.django_db
LIST = "/admin/assistant/auditentry/"
TOOLS = ("current_time", "calculate")


def switch(cast: Cast, *tenants: Tenant) -> str:
    """Have root switch two tools of each tenant off, as the board does, and return the change's id."""
    targets = [Target(tenant.pk, None, tool) for tenant in tenants for tool in TOOLS]
    change = set_switches(actor=cast.root, targets=targets, policy="off")
    lead_change(change)
    return change.id


def shown(client: Client, query: str = "") -> list[AuditEntry]:
    return list(client.get(LIST + query).context["cl"].result_list)


def test_an_act_on_many_switches_is_one_line_of_the_audit(cast: Cast, root: Client, amys: Client) -> None:
    switch(cast, cast.acme, cast.globex)
    assert AuditEntry.objects.count() == 4
    (lead,) = shown(root)
    assert "(and 3 more changes of the same act)" in root.get(LIST).content.decode()
    page = root.get(f"{LIST}{lead.pk}/change/").content.decode()
    assert page.count("no switch of its own → off") == 4
    # A tenant's admin sees that of her own tenant, and so does whoever filters by one.
    (own,) = shown(amys)
    assert own.tenant == cast.acme
    assert [entry.tenant for entry in shown(root, f"?tenant__id__exact={cast.globex.pk}")] == [cast.globex]
    page = amys.get(f"{LIST}{own.pk}/change/").content.decode()
    assert page.count("no switch of its own → off") == 2


def test_a_search_finds_every_part_of_an_act(cast: Cast, root: Client) -> None:
    switch(cast, cast.acme, cast.globex)
    assert len(shown(root, "?q=calculate")) == 2
    assert len(shown(root, "?action=tool.switch")) == 4


def test_an_undo_is_named_as_one_and_is_one_act(cast: Cast, root: Client) -> None:
    change = switch(cast, cast.acme)
    undo_change(actor=cast.root, change=change, tenants=Tenant.objects.all())
    page = root.get(LIST).content.decode()
    assert (len(shown(root)), page.count("back to before")) == (2, 1)
    version = draft_prompt(assistant=cast.support, text="New.", actor=cast.amy)
    publish_prompt(version=version, actor=cast.amy)
    publish_prompt(version=cast.support.prompt_versions.get(number=1), actor=cast.amy)
    assert root.get(LIST).content.decode().count("back to before") == 2


def test_entries_link_to_what_they_changed(cast: Cast, root: Client) -> None:
    publish_prompt(version=draft_prompt(assistant=cast.support, text="New."), actor=cast.amy)
    set_switches(actor=cast.root, targets=[Target(cast.acme.pk, None, "current_time")], policy="off")
    AuditEntry.objects.create(tenant=cast.acme, action="limits.set", target="acme")
    AuditEntry.objects.create(tenant=cast.acme, action="assistant.change", target="Support")
    AuditEntry.objects.create(tenant=cast.acme, action="prompt.publish", target="gone v7")
    AuditEntry.objects.create(tenant=cast.acme, action="odd", target="<b>")
    found = {entry.action: entry.address for entry in shown(root) if entry.target != "gone v7"}  # type: ignore[attr-defined]
    assert all(root.get(found[action]).status_code == 200 for action in found if action != "odd")
    assert found["odd"] == ""
    assert "<b>" not in root.get(LIST).content.decode().split('id="result_list"')[1]


def test_the_file_has_every_entry_that_the_filters_leave(cast: Cast, root: Client, amys: Client) -> None:
    switch(cast, cast.acme, cast.globex)

    def lines(client: Client, query: str = "") -> list[dict[str, str]]:
        text = client.get(f"{LIST}csv/{query}").content.decode("utf-8-sig")
        return list(csv.DictReader(io.StringIO(text)))

    assert len(lines(root)) == 4
    assert {line["tenant"] for line in lines(root)} == {"acme", "globex"}
    assert [line["target"] for line in lines(root, "?q=calculate")] == ["calculate", "calculate"]
    assert {line["tenant"] for line in lines(amys)} == {"acme"}
    assert lines(amys)[0]["before → after"] == "no switch of its own → off"
    assert Client().get(f"{LIST}csv/").status_code == 302


def test_a_conversation_is_linked_and_not_named_by_its_id(root: Client, cast: Cast) -> None:
    conversation = make_conversation(cast.alice, cast.support, title="Opening hours")
    gone = "0f8fad5b-d9cb-469f-a165-70867728950e"
    for target in (str(conversation.pk), gone):
        AuditEntry.objects.create(tenant=cast.acme, actor=cast.amy, action="conversation.read", target=target)
    text = root.get(LIST).content.decode()
    assert f'href="/admin/assistant/conversation/{conversation.pk}/change/">open it</a>' in text
    assert gone not in text and "one that is there no more" in text

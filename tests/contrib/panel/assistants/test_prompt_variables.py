"""The pages of a tenant's own prompt variables."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from assistant.contrib.panel.services.scheduled_prompts import schedule_publication
from assistant.models import AuditEntry, PromptVariable
from assistant.services.assistants.prompts import draft_prompt, publish_prompt
from tests.base import Cast
from tests.contrib.panel.tenants.test_custom_roles import holder

LIST = "/admin/assistant/promptvariable/"


def add(client: Client, cast: Cast, **fields: object) -> PromptVariable | None:
    form = {"tenant": cast.acme.pk, "name": "hours", "value": "nine", **fields}
    client.post(f"{LIST}add/", form)
    return PromptVariable.objects.order_by("-pk").first()


def test_a_variable_is_made_and_changed_with_its_values_in_the_audit(amys: Client, cast: Cast) -> None:
    row = add(amys, cast, value="nine\r\nto five")
    assert row is not None and (row.tenant, row.value) == (cast.acme, "nine\nto five")
    amys.post(f"{LIST}{row.pk}/change/", {"name": "renamed", "value": "ten"})
    row.refresh_from_db()
    assert (row.name, row.value) == ("hours", "ten")
    values = [entry.details["values"]["value"] for entry in AuditEntry.objects.order_by("pk")]
    assert values == [[None, "nine\nto five"], ["nine\nto five", "ten"]]


@pytest.mark.parametrize("name", ["Hours", "1h", "a b", "user.name", "today", "tenant", "a" * 41, "h\ni", "ä", ""])
def test_a_name_that_prompts_cannot_name_is_refused(amys: Client, cast: Cast, name: str) -> None:
    assert add(amys, cast, name=name) is None


def test_names_are_unique_in_a_tenant_alone(root: Client, cast: Cast) -> None:
    PromptVariable.objects.create(tenant=cast.globex, name="hours", value="never")
    add(root, cast)
    add(root, cast, value="again")
    assert PromptVariable.objects.filter(tenant=cast.acme).count() == 1


def test_a_variable_that_a_published_or_scheduled_version_names_is_not_deleted(amys: Client, cast: Cast) -> None:
    row = PromptVariable.objects.create(tenant=cast.acme, name="hours", value="nine")
    other = PromptVariable.objects.create(tenant=cast.acme, name="hour", value="9")
    publish_prompt(version=draft_prompt(assistant=cast.support, text="{{ hours }}"))
    delete = f"{LIST}{row.pk}/delete/"
    assert "is used by version 2" in amys.get(delete).content.decode()
    amys.post(delete, {"post": "yes"})
    amys.post(LIST, {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"})
    assert PromptVariable.objects.filter(pk=row.pk).exists()
    amys.post(f"{LIST}{other.pk}/delete/", {"post": "yes"})
    assert not PromptVariable.objects.filter(pk=other.pk).exists()
    schedule_publication(version=cast.support.prompt_versions.get(number=2), at=timezone.now() + timedelta(days=1))
    publish_prompt(version=cast.support.prompt_versions.get(number=1))
    amys.post(delete, {"post": "yes"})
    assert PromptVariable.objects.filter(pk=row.pk).exists()


def test_a_rivals_variables_are_not_there(amys: Client, cast: Cast) -> None:
    row = PromptVariable.objects.create(tenant=cast.globex, name="secret_hours", value="never")
    assert "secret_hours" not in amys.get(LIST).content.decode()
    for page in ("change", "delete"):
        amys.post(f"{LIST}{row.pk}/{page}/", {"name": "x", "value": "mine", "post": "yes"})
    row.refresh_from_db()
    assert row.value == "never"
    add(amys, cast, tenant=cast.globex.pk)
    assert PromptVariable.objects.count() == 1


def test_the_permission_for_prompts_opens_them(cast: Cast) -> None:
    assert add(holder(cast, "tools"), cast) is None
    row = add(holder(cast, "prompts"), cast)
    assert row is not None and row.tenant == cast.acme

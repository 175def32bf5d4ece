"""Who an assistant may ask, on its page, in copies of tenants and in bundles."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from assistant.contrib.bundles.services.export import bundle_of_assistant, bundle_of_tenant, text_of
from assistant.contrib.bundles.services.imports import import_bundle
from assistant.contrib.bundles.services.reading import read_bundle
from assistant.contrib.sub_agents.models import Delegation
from assistant.models import Assistant, AuditEntry
from tests.base import Cast
from tests.contrib.panel.tenants.test_scope import new_assistant
from tests.contrib.sub_agents.delegation import asked_by, let_ask, set_task
from tests.factories import make_assistant, make_tenant

pytestmark = pytest.mark.django_db
TASK = {"type": "object", "properties": {"nights": {"type": "integer"}}, "required": ["nights"]}


def form(assistant: Assistant, *asked: Assistant, **fields: object) -> dict[str, object]:
    row = Delegation.objects.filter(assistant=assistant).first()
    ids = {"delegation-0-id": row.pk if row else "", "delegation-0-assistant": assistant.pk}
    totals = {"delegation-TOTAL_FORMS": 1, "delegation-INITIAL_FORMS": int(row is not None)}
    chosen = {"delegation-0-delegates": [one.pk for one in asked]}
    return new_assistant(tenant=assistant.tenant_id, slug=assistant.slug, **ids, **totals, **chosen, **fields)


def address(assistant: Assistant) -> str:
    return f"/admin/assistant/assistant/{assistant.pk}/change/"


def boxes(page: str) -> list[str]:
    return re.findall(r'<input type="checkbox" name="delegation-0-delegates" value="(\d+)"', page)


@pytest.mark.parametrize(("who", "of"), [("amy", "acme"), ("mallory", "globex")])
def test_they_are_checkboxes_of_the_tenants_other_assistants(client: Client, cast: Cast, who: str, of: str) -> None:
    user: User = getattr(cast, who)
    user.is_staff = True
    user.save()
    own, foreign = (cast.support, cast.rival_support) if of == "acme" else (cast.rival_support, cast.support)
    own.tenant.memberships.filter(user=user).update(role="admin")
    expert = make_assistant(own.tenant, "expert", name="The expert")
    client.force_login(user)
    assert boxes(client.get(address(own)).content.decode()) == [str(expert.pk)]
    assert client.post(address(own), form(own, expert)).status_code == 302
    assert asked_by(own) == [expert]
    assert Delegation.objects.get().tenant == own.tenant
    assert "delegates" in str(AuditEntry.objects.get(action="assistant.change").details)
    for other in (foreign, own):
        assert client.post(address(own), form(own, other)).status_code == 200
    assert asked_by(own) == [expert]
    assert client.get(address(foreign)).status_code == 302
    assert client.post(address(own), form(own)).status_code == 302
    assert asked_by(own) == []


def test_a_task_is_a_schema_of_an_object(admin_client: Client, cast: Cast) -> None:
    schema = "delegation-0-task_schema"
    refused = admin_client.post(address(cast.support), form(cast.support, **{schema: '{"type": "array"}'}))
    assert "This is not a JSON Schema of an object" in refused.content.decode()
    assert admin_client.post(address(cast.support), form(cast.support, **{schema: json.dumps(TASK)})).status_code == 302
    assert Delegation.objects.get().task_schema == TASK


def test_a_new_assistant_asks_nobody_yet(admin_client: Client) -> None:
    assert "delegation-0" not in admin_client.get("/admin/assistant/assistant/add/").content.decode()


def take(file: dict[str, Any], tenant: Any) -> Any:
    return import_bundle(bundle=read_bundle(json.dumps(file).encode()), tenant=tenant, actor=None)


def test_a_bundle_has_who_asks_whom_and_the_tasks(cast: Cast) -> None:
    expert = make_assistant(cast.acme, "expert")
    let_ask(cast.support, expert)
    set_task(expert, TASK)
    file = json.loads(text_of(bundle_of_tenant(tenant=cast.acme)))
    copy = make_tenant("copy")
    take(file, copy)
    support, copied = (Assistant.objects.get(tenant=copy, slug=slug) for slug in ("support", "expert"))
    assert (asked_by(support), copied.delegation.task_schema) == ([copied], TASK)
    assert take(file, copy).is_empty
    assert asked_by(cast.support) == [expert]


def test_a_bundle_of_one_assistant_says_who_is_missing(cast: Cast) -> None:
    expert = make_assistant(cast.acme, "expert")
    let_ask(cast.support, expert)
    set_task(expert, TASK)
    file = json.loads(text_of(bundle_of_assistant(assistant=cast.support)))
    assert file["delegations"] == [{"assistant": "support", "delegates": ["expert"], "task_schema": None}]
    (refused,) = take(file, cast.globex).of_kind("refused")
    assert (refused.section, refused.name) == ("delegates", "support") and "expert" in refused.reason
    assert asked_by(cast.rival_support) == []


def test_a_bundle_with_a_wrong_task_leaves_the_task_alone(cast: Cast) -> None:
    set_task(cast.support, TASK)
    file = json.loads(text_of(bundle_of_tenant(tenant=cast.acme)))
    file["delegations"][0]["task_schema"] = {"type": "array"}
    (refused,) = take(file, cast.acme).of_kind("refused")
    assert "task_schema" in refused.reason
    assert Delegation.objects.get().task_schema == TASK

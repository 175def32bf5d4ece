"""create_tenant and create_api_key: what they make, and what they say of wrong values."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from assistant.models import Assistant, Membership, Tenant, ToolSetting
from assistant.services.assistants.configuration import with_prompt
from assistant.services.tenancy.members import member_by_key
from tests.base import Cast


def run(*arguments: str, **options: Any) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, **options)
    return out.getvalue()


def test_a_tenant_is_made_with_its_owner(cast: Cast) -> None:
    run("assistant_create_tenant", "initech", "--name", "Initech", "--owner", "oscar", "--timezone", "Europe/Vienna")
    place = Membership.objects.get(tenant__slug="initech")
    assert (place.user, place.role, place.tenant.timezone) == (cast.oscar, "owner", "Europe/Vienna")
    assert place.user.is_staff


def test_the_owner_of_a_new_tenant_can_chat_at_once(cast: Cast) -> None:
    run("assistant_create_tenant", "initech", "--name", "Initech", "--owner", "oscar")
    (assistant,) = with_prompt(Assistant.objects.filter(tenant__slug="initech"))
    assert assistant.slug == "assistant" and "assistant of Initech" in assistant.published_text


def test_the_assistant_gets_the_prompt_and_tools_that_are_named(cast: Cast) -> None:
    options = {"assistant": "help-desk", "prompt": "Be kind.", "tools": "current_time, calculate"}
    run("assistant_create_tenant", "initech", "--name", "Initech", "--owner", "oscar", **options)
    (assistant,) = with_prompt(Assistant.objects.filter(tenant__slug="initech"))
    assert (assistant.slug, assistant.name, assistant.published_text) == ("help-desk", "Help Desk", "Be kind.")
    on = ToolSetting.objects.filter(tenant=assistant.tenant, policy="on").values_list("tool", flat=True)
    assert sorted(on) == ["calculate", "current_time"]


def test_nothing_is_made_with_an_unknown_tool(cast: Cast) -> None:
    with pytest.raises(CommandError, match="no tool 'fly'"):
        run("assistant_create_tenant", "initech", "--name", "Initech", "--owner", "oscar", tools="fly")
    assert Tenant.objects.count() == 2


@pytest.mark.parametrize(
    ("slug", "owner", "zone", "named"),
    [
        ("acme", "oscar", "UTC", "slug"),
        ("no spaces", "oscar", "UTC", "slug"),
        ("initech", "nobody", "UTC", "nobody"),
        ("initech", "oscar", "Mars", "timezone"),
    ],
)
def test_a_wrong_value_is_named_and_nothing_is_made(cast: Cast, slug: str, owner: str, zone: str, named: str) -> None:
    with pytest.raises(CommandError, match=named):
        run("assistant_create_tenant", slug, "--name", "Initech", "--owner", owner, "--timezone", zone)
    assert Tenant.objects.count() == 2


def test_a_key_stands_alone_on_the_last_line_and_works(cast: Cast) -> None:
    key = run("assistant_create_api_key", "acme", "alice", "--scopes", "chat,read", "--expires", "30").splitlines()[-1]
    member = member_by_key(key=key)
    assert member is not None
    assert (member.user.username, member.scopes) == ("alice", {"chat", "read"})


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["nowhere", "alice"], "nowhere"),
        (["acme", "nobody"], "nobody"),
        (["acme", "mallory"], "not a member"),
        (["acme", "alice", "--scopes", "fly"], "fly"),
        (["acme", "alice", "--expires", "0"], "1 to"),
        (["acme", "alice", "--expires", "99999999999"], "1 to"),
    ],
)
def test_a_key_that_cannot_be_made_says_why(cast: Cast, arguments: list[str], named: str) -> None:
    with pytest.raises(CommandError, match=named):
        run("assistant_create_api_key", *arguments)


def test_the_catalogue_is_listed(db: None) -> None:
    assert "get_customer" in run("assistant_tools")


def test_a_users_tools_are_listed_with_the_rule_that_decided(cast: Cast) -> None:
    lines = run("assistant_tools", "--tenant", "acme", "--user", "alice").splitlines()
    line = next(line for line in lines if "get_customer" in line)
    assert line.startswith("off")
    assert line.endswith("Off until the tenant switches it on.")


def test_an_outsiders_tools_are_all_off(cast: Cast) -> None:
    lines = run("assistant_tools", "--tenant", "acme", "--user", "mallory").splitlines()
    assert lines
    assert all(line.startswith("off") for line in lines)


def test_half_a_question_is_refused(cast: Cast) -> None:
    with pytest.raises(CommandError, match="both"):
        run("assistant_tools", "--tenant", "acme")

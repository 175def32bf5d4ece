"""The rules that decide about tools, in the language of the page."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.translation import override

from assistant.contrib.panel.admin.base.shown_rules import shown_rule
from assistant.services.toolpolicy import rules
from assistant.services.toolpolicy.blocks import Block
from assistant.services.toolpolicy.policy import decide
from assistant.services.toolpolicy.switch_query import Switch
from assistant.toolkit import Tool, tool
from tests.base import Cast
from tests.factories import switch_tool


@tool
def send_letter(to: str) -> str:
    """Send a letter."""
    return to


SWITCHES = [Switch(policy, {}, "") for policy in ("on", "ask", "off")]
NONE: Mapping[str, Any] = {"tenant": None, "assistant": None}
UNTIL = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)
CASES: list[tuple[Tool | None, Mapping[str, Any]]] = [
    (None, NONE),
    (send_letter, NONE),
    (send_letter.replace(enabled_by_default=True), NONE),
    (send_letter.replace(requires_approval=True), {**NONE, "tenant": SWITCHES[0]}),
    (send_letter, {**NONE, "refusal": ""}),
    (send_letter, {**NONE, "tenant": SWITCHES[0], "narrowing": ()}),
    (send_letter.replace(permission="tools.send"), {**NONE, "tenant": SWITCHES[0], "has_permission": False}),
    (send_letter, {**NONE, "block": Block("It is broken.\nAll of it.")}),
    (send_letter, {**NONE, "block": Block("It is broken", UNTIL)}),
    *((send_letter, {**NONE, "tenant": one}) for one in SWITCHES),
    *((send_letter, {"tenant": SWITCHES[0], "assistant": one}) for one in SWITCHES),
]


@pytest.mark.parametrize(("tried", "how"), CASES)
def test_every_rule_is_shown_in_the_language_of_the_page(tried: Tool | None, how: Mapping[str, Any]) -> None:
    rule = decide(tried, **how).rule
    with override("en"):
        assert shown_rule(rule) == rule
    with override("de"):
        shown = shown_rule(rule)
    assert shown != rule
    assert all(word in shown for word in ("tools.send", "It is broken", "2026-05-01 12:30") if word in rule)


def test_no_sentence_is_listed_that_no_rule_has() -> None:
    assert {decide(tried, **how).rule for tried, how in CASES} >= {
        *rules.FOR_ASSISTANT.values(), *rules.FOR_TENANT.values(), rules.NOT_IN_CATALOGUE, rules.ASKS_ITSELF,
        rules.ALLOWED_FOR_SERVER, rules.ON_BY_DEFAULT, rules.NOT_SWITCHED_ON, rules.LEFT_OUT,
    }  # fmt: skip


def test_rules_of_other_origin_are_shown_as_they_are() -> None:
    assert shown_rule("The server is down.") == "The server is down." and shown_rule("") == ""


def test_pages_show_german_rules_to_a_german(cast: Cast, client: Client) -> None:
    switch_tool(cast.acme, "calculate", "ask")
    client.force_login(cast.root)
    pages = (
        reverse("admin:switchboard_of_tenant", args=["acme"]),
        reverse("admin:assistant_tenant_tools", args=[cast.acme.pk]),
        reverse("admin:tool_page", args=["calculate"]),
        reverse("admin:switchboard"),
    )
    for address in pages:
        page = client.get(address, headers={"accept-language": "de"})
        assert page.status_code == 200 and "so eingestellt, dass es erst fragt." in page.content.decode(), address

"""A bundle of a hostile origin is refused with a reason, or takes nothing outside the tenant that imports it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import override_settings

from assistant.contrib.bundles.services.difference import Difference
from assistant.contrib.bundles.services.export import bundle_of_tenant, text_of
from assistant.contrib.bundles.services.format import MAX_BYTES, BundleError
from assistant.contrib.bundles.services.imports import import_bundle
from assistant.contrib.bundles.services.reading import read_bundle
from assistant.contrib.mcp_servers.models import McpServer
from assistant.models import Assistant, Tenant, ToolSetting
from tests.base import Cast
from tests.contrib.sub_agents.delegation import asked_by
from tests.factories import make_assistant, make_provider, switch_tool

SERVER = {
    "name": "files", "prefix": "files", "url": "https://mcp.example.com/mcp", "command": "", "credentials_of": "tenant",
    "oauth_client_id": "", "oauth_issuer": "", "oauth_scope": "", "context_keys": [], "timeout_seconds": 30,
}  # fmt: skip


def file_of(tenant: Tenant) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text_of(bundle_of_tenant(tenant=tenant)))
    return found


def take(tenant: Tenant, file: dict[str, Any]) -> Difference:
    return import_bundle(bundle=read_bundle(json.dumps(file).encode()), tenant=tenant, actor=None)


def set_id(file: dict[str, Any]) -> None:
    file["assistants"][0]["id"] = 1


def set_tenant(file: dict[str, Any]) -> None:
    file["tenant"] = "globex"


def set_secret(file: dict[str, Any]) -> None:
    file["tools"] = [{"tool": "current_time", "policy": "on", "config": {}, "secrets": {"key": "x"}}]


def set_active(file: dict[str, Any]) -> None:
    file["mcp_servers"] = [SERVER | {"is_active": True}]


def set_huge_number(file: dict[str, Any]) -> None:
    file["assistants"][0]["max_rounds"] = 2**40


def set_text_for_number(file: dict[str, Any]) -> None:
    file["assistants"][0]["max_rounds"] = "20"


def set_nul(file: dict[str, Any]) -> None:
    file["assistants"][0]["prompt"] = "a\x00b"


def set_surrogate(file: dict[str, Any]) -> None:
    file["assistants"][0]["description"] = "\ud800"


def set_nul_in_a_key(file: dict[str, Any]) -> None:
    file["tools"] = [{"tool": "current_time", "policy": "on", "config": {"\x00": 1}}]


def set_twice(file: dict[str, Any]) -> None:
    file["assistants"] *= 2


def set_path(file: dict[str, Any]) -> None:
    file["assistants"][0]["slug"] = "../globex"


def set_kind(file: dict[str, Any]) -> None:
    file["kind"] = "assistant"


def set_not_a_number(file: dict[str, Any]) -> None:
    file["assistants"][0]["max_cost"] = "NaN"


def remove_a_value(file: dict[str, Any]) -> None:
    del file["assistants"][0]["model"]


@pytest.mark.parametrize(
    "change",
    [
        set_id, set_tenant, set_secret, set_active, set_huge_number, set_text_for_number, set_nul, set_surrogate,
        set_nul_in_a_key, set_twice, set_path, set_kind, set_not_a_number, remove_a_value,
    ],
)  # fmt: skip
def test_what_is_unknown_missing_or_wrong_is_refused(cast: Cast, change: Callable[[dict[str, Any]], None]) -> None:
    file = file_of(cast.acme)
    change(file)
    with pytest.raises(BundleError) as refused:
        read_bundle(json.dumps(file).encode())
    assert refused.value.code == "invalid"
    assert refused.value.problems


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{" + b" " * MAX_BYTES + b"}", "too_large"),
        (b"\xff\xfe", "not_json"),
        (b"[" * 5_000, "invalid"),
        (b'{"format": NaN}', "not_json"),
        (b'{"format": "tenant-assistant/bundle", "version": 2}', "another_version"),
        (b'{"format": "tenant-assistant/bundle", "version": true}', "another_version"),
        (b"[]", "invalid"),
        (b"", "not_json"),
    ],
)
def test_what_is_no_bundle_is_refused(content: bytes, code: str) -> None:
    with pytest.raises(BundleError) as refused:
        read_bundle(content)
    assert refused.value.code == code


def test_the_problems_are_bounded(cast: Cast) -> None:
    file = file_of(cast.acme) | {f"{'k' * 5_000}{number}": 1 for number in range(100)}
    with pytest.raises(BundleError) as refused:
        read_bundle(json.dumps(file).encode())
    assert len(str(refused.value)) < 3_000


@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254/latest", "https://10.0.0.1/mcp", "file:///etc/passwd", "https://user:pw@example.com"],
)
@pytest.mark.parametrize("field", ["url", "oauth_issuer"])
def test_an_address_that_the_guard_refuses_is_not_taken(cast: Cast, url: str, field: str) -> None:
    difference = take(cast.globex, file_of(cast.acme) | {"mcp_servers": [SERVER | {field: url}]})
    assert [one.name for one in difference.of_kind("refused")] == ["files"]
    assert not McpServer.objects.exists()


@override_settings(ASSISTANT_MCP_STDIO_COMMANDS={"notes": ["notes-server"]})
@pytest.mark.parametrize(
    "wrong", [{"command": "sh", "url": ""}, {"command": "notes"}, {"prefix": "ask_x"}, {"context_keys": ["secret"]}]
)
def test_a_server_that_no_form_would_take_is_not_taken(cast: Cast, wrong: dict[str, Any]) -> None:
    difference = take(cast.globex, file_of(cast.acme) | {"mcp_servers": [SERVER | wrong]})
    assert difference.of_kind("refused")
    assert not McpServer.objects.exists()


def test_stored_credentials_are_not_led_to_another_address(cast: Cast) -> None:
    values = {"name": "files", "prefix": "files", "url": "https://ours.example.com/mcp", "is_active": True}
    row = McpServer.objects.create(tenant=cast.globex, headers='{"Authorization": "x"}', **values)
    difference = take(cast.globex, file_of(cast.acme) | {"mcp_servers": [SERVER]})
    row.refresh_from_db()
    assert difference.of_kind("refused")
    assert (row.url, row.is_active) == ("https://ours.example.com/mcp", True)


def test_a_server_with_a_new_address_is_switched_off(cast: Cast) -> None:
    values = {"name": "files", "prefix": "files", "url": "https://ours.example.com/mcp", "is_active": True}
    row = McpServer.objects.create(tenant=cast.globex, **values)
    take(cast.globex, file_of(cast.acme) | {"mcp_servers": [SERVER]})
    row.refresh_from_db()
    assert (row.url, row.is_active) == (SERVER["url"], False)


def test_names_of_another_tenants_rows_lead_nowhere(cast: Cast) -> None:
    make_provider(cast.globex, base_url="https://llm.example.com/v1", name="Rival's")
    make_assistant(cast.globex, "secret-helper")
    file = file_of(cast.acme)
    file["assistants"][0]["provider"] = {"name": "Rival's", "of": "tenant"}
    file["delegations"] = [{"assistant": cast.support.slug, "delegates": ["secret-helper"]}]
    file["tools"] = [{"tool": "rivals__tool", "policy": "on", "config": {}}]
    difference = take(cast.acme, file)
    cast.support.refresh_from_db()
    assert cast.support.provider is None
    assert not asked_by(cast.support)
    assert not ToolSetting.objects.exists()
    assert len(difference.of_kind("refused")) == 3


def test_rows_of_other_tenants_stay_as_they_are(cast: Cast) -> None:
    switch_tool(cast.globex, "current_time", "off")
    before = text_of(bundle_of_tenant(tenant=cast.globex))
    file = file_of(cast.globex)
    file["assistants"][0]["prompt"] = "Obey."
    file["tools"][0]["policy"] = "on"
    take(cast.acme, file)
    assert text_of(bundle_of_tenant(tenant=cast.globex)) == before


@pytest.mark.parametrize("schema", [{"type": "array"}, {"type": "object", "properties": {"a": {"$ref": "http://x/y"}}}])
def test_a_schema_that_no_form_would_take_is_not_taken(cast: Cast, schema: dict[str, Any]) -> None:
    file = file_of(cast.acme)
    file["assistants"][0] |= {"answer_schema": schema, "slug": "new"}
    difference = take(cast.globex, file)
    assert [one.name for one in difference.of_kind("refused")] == ["new"]
    assert not Assistant.objects.filter(slug="new").exists()

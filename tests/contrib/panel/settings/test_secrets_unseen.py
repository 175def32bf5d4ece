"""No stored or entered secret in any page of the admin, a form shown again, the history, the session or an export."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django import forms
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import models
from django.test import Client

from assistant.admin.base.secret_fields import SecretTextarea
from assistant.contrib.browser_sessions.models import BrowserSession
from assistant.contrib.deploy.key_rotation import encrypted_fields
from assistant.contrib.mcp_servers.models import McpServer
from assistant.contrib.sent_requests.models import KeptRequest
from assistant.models import AuditEntry, Provider, ToolSetting
from tests.base import Cast
from tests.isolation.doors import paths
from tests.isolation.planting import plant

SECRET = "goldammer-5209"
NAMED = re.compile(r"(^|_)(api_key|headers|secrets?|password\d?|token)(_|$)")
Rows = dict[type[models.Model], models.Model]


@pytest.fixture
def rows(cast: Cast) -> Rows:
    """A row of each model, with a secret in each field that is encrypted."""
    planted = dict(plant(cast))
    for model, name in encrypted_fields():
        # What a model was sent is there to be read, and a session's key is of a person and no tenant.
        if model in (KeptRequest, BrowserSession):
            continue
        setattr(planted[model], name, f'{{"key": "{SECRET}"}}')
        planted[model].save()
    planted[ToolSetting].tool = "get_weather"  # type: ignore[attr-defined]
    planted[ToolSetting].save()
    return planted


def test_no_page_shows_a_stored_secret(root: Client, rows: Rows) -> None:
    visited = [path for path in paths(rows) if path.startswith("/admin/") and "logout" not in path]
    shown = {path: root.get(path) for path in visited}
    assert sum(answer.status_code == 200 for answer in shown.values()) > 80
    assert [path for path, answer in shown.items() if SECRET in answer.getvalue().decode("utf-8", "replace")] == []


def secret_forms(root: Client, rows: Rows) -> Iterator[tuple[str, list[str]]]:
    """The forms to add and to change rows that take secrets, with the names of the secrets' fields."""
    for model in admin.site._registry:
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        changes = [f"{base}{rows[model].pk}/change/"] if model in rows else []
        for path in (f"{base}add/", *changes):
            context = root.get(path).context
            form = context.get("adminform") if context else None
            fields = form.form.fields.items() if form else ()
            texts = [name for name, field in fields if not isinstance(field, forms.ChoiceField | forms.BooleanField)]
            if names := list(filter(NAMED.search, texts)):
                yield path, names


@pytest.mark.parametrize("given", [SECRET, f'{{"Authorization": "{SECRET}"}}'])
def test_a_form_shown_again_contains_no_secret(given: str, root: Client, rows: Rows) -> None:
    refused = []
    for path, names in secret_forms(root, rows):
        answer = root.post(path, dict.fromkeys(names, given), follow=True)
        assert SECRET not in answer.content.decode(), path
        refused += [path] if answer.context.get("errors") else []
    assert len(refused) >= 6, refused


def test_a_secret_must_be_entered_again_after_any_form_error(root: Client, rows: Rows) -> None:
    path = f"/admin/assistant_mcp_servers/mcpserver/{rows[McpServer].pk}/change/"
    fields = root.post(path, {"new_headers": f'{{"X-Key": "{SECRET}"}}'}).context["adminform"].form
    assert isinstance(fields.fields["new_headers"].widget, SecretTextarea)
    assert "Enter it again" in str(fields.errors["new_headers"])


def test_the_test_finds_a_form_that_shows_its_secret(root: Client, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SecretTextarea, "format_value", forms.Textarea.format_value)
    with pytest.raises(AssertionError, match="mcpserver"):
        test_a_form_shown_again_contains_no_secret(SECRET, root, rows)


def test_saving_leaves_no_secret_in_history_or_session(root: Client, rows: Rows, cast: Cast) -> None:
    provider = {"tenant": cast.acme.pk, "base_url": "https://a.example.com/v1", "default_model": "m"}
    root.post("/admin/assistant/provider/add/", {**provider, "name": "Own", "new_api_key": SECRET})
    row = Provider.objects.get(name="Own")
    root.post(f"/admin/assistant/provider/{row.pk}/change/", {**provider, "name": "Mine", "new_api_key": f"{SECRET}2"})
    row.refresh_from_db()
    assert row.api_key == f"{SECRET}2"
    kept: list[Any] = [*LogEntry.objects.values(), *AuditEntry.objects.values()]
    kept += [session.get_decoded() for session in Session.objects.all()]
    assert LogEntry.objects.count() >= 2 and SECRET not in str(kept)
    assert SECRET not in root.get("/admin/").content.decode()


def test_no_export_contains_a_secret(rows: Rows, cast: Cast, tmp_path: Path) -> None:
    for command, subject in (("assistant_export_tenant", "acme"), ("assistant_export_user", cast.alice.username)):
        file = tmp_path / f"{command}.zip"
        call_command(command, subject, "--file", str(file), "--by", "root")
        with zipfile.ZipFile(file) as archive:
            whole = b"".join(archive.read(name) for name in archive.namelist())
        assert b"zeisig" in whole and SECRET.encode() not in whole and b"gAAAA" not in whole

"""All of a member's conversations as one archive: theirs alone, within bounds, each fit for an import."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from django.test import Client

from assistant.contrib.conversation_exports import archive
from assistant.contrib.conversation_exports.imports import import_conversation
from assistant.models import AuditEntry
from assistant.services.tenancy.members import find_member
from tests.base import Cast
from tests.factories import make_conversation, make_message

pytestmark = pytest.mark.django_db
ADDRESS = "/t/acme/own-data/conversations.zip"


def signed_in(user: Any, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client


def talk(user: Any, cast: Cast, text: str) -> None:
    make_message(make_conversation(user, cast.support, title=text), role="user", content=text)


def read(content: bytes) -> list[bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        return [opened.read(name) for name in opened.namelist()]


def test_ones_own_and_no_others(cast: Cast) -> None:
    talk(cast.alice, cast, "Mine")
    talk(cast.alice, cast, "Mine too")
    talk(cast.amy, cast, "Hers")
    files = read(signed_in(cast.alice).post(ADDRESS).content)
    assert {json.loads(one)["title"] for one in files} == {"Mine", "Mine too"}
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    assert import_conversation(member=member, content=files[0]).title
    entry = AuditEntry.objects.get(action="conversations.export")
    assert (entry.actor_id, entry.tenant_id, entry.details) == (cast.alice.pk, cast.acme.pk, {"count": 2})


def test_others_and_forms_without_a_token_are_refused(cast: Cast) -> None:
    talk(cast.alice, cast, "Mine")
    assert signed_in(cast.mallory).post(ADDRESS).status_code == 404
    assert signed_in(cast.alice).get(ADDRESS).status_code == 405
    assert signed_in(cast.alice, enforce_csrf_checks=True).post(ADDRESS).status_code == 403
    assert signed_in(cast.amy).post(ADDRESS).status_code == 400
    assert not AuditEntry.objects.filter(action="conversations.export").exists()


def test_an_archive_has_bounds(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        talk(cast.alice, cast, f"Talk {number}")
    monkeypatch.setattr(archive, "MAX_CONVERSATIONS", 3)
    assert len(read(signed_in(cast.alice).post(ADDRESS).content)) == 3
    monkeypatch.setattr(archive, "MAX_BYTES", 1)
    assert len(read(signed_in(cast.alice).post(ADDRESS).content)) == 1

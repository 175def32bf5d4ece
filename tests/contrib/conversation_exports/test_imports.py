"""An export is imported by members of its tenant, as it is; no other text can be put into an assistant's mouth."""

from __future__ import annotations

import json

import pytest

from assistant.contrib.conversation_exports import imports
from assistant.contrib.conversation_exports.export import as_json
from assistant.contrib.conversation_exports.imports import ImportRefused, import_conversation
from assistant.models import AuditEntry, Conversation, Message
from assistant.services.tenancy.members import Member, find_member
from tests.base import Cast
from tests.factories import make_conversation, make_message

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice(cast: Cast) -> Member:
    found = find_member(tenant_slug="acme", user_id=cast.alice.pk)
    assert found is not None
    return found


@pytest.fixture
def export(cast: Cast, alice: Member) -> dict[str, object]:
    talk = make_conversation(cast.alice, cast.support, title="Parcels")
    make_message(talk, "user", "Where is it?")
    make_message(talk, "tool", "{}", tool_call_id="c")
    make_message(talk, "assistant", "On its way.", sources=["search_docs"])
    return as_json(member=alice, conversation=talk)


def encoded(export: dict[str, object]) -> bytes:
    return json.dumps(export, indent=2).encode()


def test_an_export_becomes_a_conversation_of_the_member(alice: Member, export: dict[str, object]) -> None:
    made = import_conversation(member=alice, content=encoded(export))
    assert (made.tenant_id, made.user_id, made.title) == (alice.tenant_id, alice.user_id, "Parcels")
    texts = list(made.messages.order_by("position").values_list("role", "content", "sources"))
    assert texts == [("user", "Where is it?", [imports.IMPORTED]), ("assistant", "On its way.", [imports.IMPORTED])]


def test_its_title_is_nobodys_to_replace(alice: Member, export: dict[str, object]) -> None:
    made = import_conversation(member=alice, content=encoded(export))
    assert made.title_origin == Conversation.TitleOrigin.PERSON


def test_the_audit_says_who_has_imported_what(alice: Member, cast: Cast, export: dict[str, object]) -> None:
    made = import_conversation(member=alice, content=encoded(export))
    with pytest.raises(ImportRefused):
        import_conversation(member=alice, content=b"[]")
    entry = AuditEntry.objects.get(tenant=cast.acme)
    assert (entry.action, entry.actor_id, entry.target) == (
        "conversation.import", cast.alice.pk, f"conversation {made.pk}",
    )  # fmt: skip
    assert entry.details == {"messages": 2}


def test_a_changed_export_is_refused(alice: Member, export: dict[str, object]) -> None:
    changed = {**export, "title": "Other"}
    unsigned = {name: value for name, value in export.items() if name != "signature"}
    for content in (encoded(changed), encoded(unsigned), b"[]", b"", b"{", b"[" * 100_000, b"\xff"):
        with pytest.raises(ImportRefused):
            import_conversation(member=alice, content=content)
    assert Conversation.objects.count() == 1
    assert Message.objects.count() == 3


def test_another_tenant_does_not_take_it(cast: Cast, export: dict[str, object]) -> None:
    mallory = find_member(tenant_slug="globex", user_id=cast.mallory.pk)
    assert mallory is not None
    with pytest.raises(ImportRefused):
        import_conversation(member=mallory, content=encoded(export))
    assert not Conversation.objects.filter(tenant=cast.globex).exists()


def test_imports_are_bounded(alice: Member, export: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "MAX_PER_MINUTE", 2)
    import_conversation(member=alice, content=encoded(export))
    with pytest.raises(ImportRefused):
        import_conversation(member=alice, content=encoded(export))
    with pytest.raises(ImportRefused):
        import_conversation(member=alice, content=b" " * (imports.MAX_IMPORT_BYTES + 1))

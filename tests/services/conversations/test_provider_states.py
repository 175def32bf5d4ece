"""What providers give with messages for themselves: stored, encrypted if asked, bounded, and read by nobody else."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.test import Client, override_settings

from assistant.client.sent_requests import content_of
from assistant.contrib.data_exports.exports import export_tenant
from assistant.contrib.deploy.key_rotation import rotate
from assistant.core.conversation.transcript import Transcript
from assistant.core.llm.protocol import ModelRequest
from assistant.core.values.events import TextMessageContent, TextMessageEnd, TextMessageStart
from assistant.core.values.history_window import repair
from assistant.core.values.messages import Message, ToolCall
from assistant.models import Conversation
from assistant.models import Message as MessageRow
from assistant.providers.openai_wire.provider_state import MAX_BYTES, CallState, read_state, written_state
from assistant.services.conversations.stored_messages import recent_messages, store_messages, with_sealed_states
from tests.base import Cast
from tests.factories import make_conversation, make_run

CANARY = "zaunkoenig-8841"
STATE = json.dumps({"kind": "gemini", "model": "m", "calls": [{"fields": {"extra_content": CANARY}}]})
KEY, NEW_KEY = (Fernet.generate_key().decode() for _ in range(2))
CALL = Message("assistant", id="a", tool_calls=(ToolCall("1", "get", "{}"),), provider_state=STATE)


def stored(cast: Cast) -> Conversation:
    run = make_run(make_conversation(cast.alice, cast.support))
    messages = [Message("user", "Hi", id="u"), CALL, Message("tool", "ok", id="t", tool_call_id="1")]
    store_messages(
        tenant_id=run.tenant_id,
        conversation_id=run.conversation_id,
        run_id=run.pk,
        messages=messages,
        first_position=0,
    )
    Conversation.objects.filter(pk=run.conversation_id).update(message_count=3)
    return Conversation.objects.get(pk=run.conversation_id)


@pytest.mark.django_db
@pytest.mark.parametrize("is_encrypted", [False, True])
def test_a_state_is_stored_and_read_with_its_message(cast: Cast, is_encrypted: bool) -> None:
    with override_settings(ASSISTANT_ENCRYPT_PROVIDER_STATE=is_encrypted):
        conversation = stored(cast)
    row = MessageRow.objects.get(message_id="a")
    assert (CANARY in row.provider_state) is not is_encrypted
    assert [message.provider_state for message in recent_messages(conversation=conversation)] == ["", STATE, ""]


@pytest.mark.django_db
def test_a_state_that_no_key_decrypts_is_left_out(cast: Cast) -> None:
    with override_settings(ASSISTANT_ENCRYPT_PROVIDER_STATE=True, ASSISTANT_FIELD_ENCRYPTION_KEYS=[KEY]):
        conversation = stored(cast)
    with override_settings(ASSISTANT_FIELD_ENCRYPTION_KEYS=[NEW_KEY]):
        assert [message.provider_state for message in recent_messages(conversation=conversation)] == ["", "", ""]


@pytest.mark.django_db
def test_encrypted_states_are_rotated_and_plain_ones_left(cast: Cast) -> None:
    with override_settings(ASSISTANT_ENCRYPT_PROVIDER_STATE=True, ASSISTANT_FIELD_ENCRYPTION_KEYS=[KEY]):
        conversation = stored(cast)
    stored_plain = MessageRow.objects.filter(message_id="u")
    stored_plain.update(provider_state=STATE)
    with override_settings(ASSISTANT_FIELD_ENCRYPTION_KEYS=[NEW_KEY, KEY]):
        found = {one.label: (one.renewed, one.current, one.unreadable) for one in rotate()}
    assert found["assistant.Message.provider_state"] == (1, 0, 0)
    with override_settings(ASSISTANT_FIELD_ENCRYPTION_KEYS=[NEW_KEY]):
        assert [message.provider_state for message in recent_messages(conversation=conversation)] == [STATE, STATE, ""]


@pytest.mark.django_db
def test_no_page_export_or_bundle_of_data_has_a_state(cast: Cast) -> None:
    conversation = stored(cast)
    file = io.BytesIO()
    export_tenant(tenant=cast.acme, actor=None, to=file)
    with zipfile.ZipFile(file) as archive:
        lines = b"".join(archive.read(name) for name in archive.namelist())
    assert b'"message_id": "a"' in lines and CANARY.encode() not in lines
    client = Client()
    client.force_login(cast.root)
    row = MessageRow.objects.get(message_id="a")
    pages = (f"/admin/assistant/message/{row.pk}/change/", f"/admin/assistant/conversation/{conversation.pk}/change/")
    for page in pages:
        response = client.get(page, follow=True)
        assert response.status_code == 200 and CANARY not in response.content.decode()


def test_a_state_is_in_no_representation_and_no_event() -> None:
    assert CANARY not in repr(CALL) and CANARY not in content_of(ModelRequest(messages=[CALL])).decode()
    transcript = transcript_with_state()
    assert CANARY not in str(transcript.open_events()) and CANARY not in str(transcript.close("cancelled"))


def transcript_with_state() -> Transcript:
    transcript = Transcript()
    for event in (TextMessageStart("a", "assistant"), TextMessageContent("a", "Hi"), TextMessageEnd("a")):
        transcript.apply(event)
    transcript.keep_state("a", STATE)
    return transcript


@pytest.mark.parametrize("is_encrypted", [False, True])
def test_a_checkpoint_keeps_states(is_encrypted: bool) -> None:
    with override_settings(ASSISTANT_ENCRYPT_PROVIDER_STATE=is_encrypted):
        checkpoint: dict[str, Any] = json.loads(json.dumps(with_sealed_states(transcript_with_state().to_state())))
    assert (CANARY in str(checkpoint)) is not is_encrypted
    (restored,) = Transcript.from_state(checkpoint).messages
    assert restored.provider_state and (restored.provider_state == STATE) is not is_encrypted


def test_a_checkpoint_of_the_version_before_is_read() -> None:
    checkpoint = transcript_with_state().to_state()
    del checkpoint["messages"][0]["provider_state"]
    (restored,) = Transcript.from_state(checkpoint).messages
    assert restored.provider_state == ""


def test_a_repaired_conversation_keeps_states() -> None:
    assert [message.provider_state for message in repair([Message("user", "Hi"), CALL])] == ["", STATE, ""]


@pytest.mark.parametrize("said", ["x" * 200_000, "\x01" * 200_000, "ü" * 100_000])
def test_long_reasoning_is_cut_to_the_bound(said: str) -> None:
    text = written_state("k", "m", calls=[CallState("1")], fields={}, reasoning=("reasoning_content", said))
    assert len(text.encode()) <= MAX_BYTES
    state = read_state(text, "k", "m")
    assert state is not None and state.reasoning is not None
    assert said.startswith(state.reasoning[1]) and len(text) > MAX_BYTES // 2


def test_what_cannot_be_cut_is_left_out() -> None:
    long = {"extra_content": {"signature": "x" * MAX_BYTES}}
    text = written_state("k", "m", calls=[CallState("own", long)], fields={}, reasoning=("reasoning", "Hm"))
    state = read_state(text, "k", "m")
    assert state is not None and (state.calls, state.reasoning) == ([CallState("own")], ("reasoning", "Hm"))
    assert written_state("k", "m", calls=[CallState("x" * MAX_BYTES)], fields={}, reasoning=None) == ""


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", "gAAAAA", '{"kind":"k","model":"m","calls":7}'])
def test_what_is_no_state_says_nothing(text: str) -> None:
    assert read_state(text, "k", "m") is None


def test_a_state_is_read_by_its_model_of_its_kind_only() -> None:
    text = written_state("k", "m", calls=[CallState("1")], fields={}, reasoning=None)
    assert read_state(text, "k", "m") and not read_state(text, "k", "other") and not read_state(text, "other", "m")


def test_a_lone_surrogate_does_not_lose_a_state() -> None:
    text = written_state("k", "m", calls=[CallState("\ud800")], fields={}, reasoning=None)
    state = read_state(text, "k", "m")
    assert state is not None and state.calls == [CallState("?")]

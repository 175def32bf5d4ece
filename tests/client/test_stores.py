"""Stores of `ChatClient`: no conversation crosses tenants or users, whatever they call it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from assistant.client import ChatClient, ConversationStore, InMemoryStore, Message
from assistant.providers import ScriptedModel
from tests.client.crossing import everybody_reads_their_own, keys_that_look_alike_are_different


class FileStore:
    """A store of one's own with sync methods: a file for each conversation."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _file(self, key: str) -> Path:
        return self._folder / key.encode().hex()

    def load(self, key: str) -> Sequence[Message]:
        file = self._file(key)
        return msgspec.json.decode(file.read_bytes(), type=list[Message]) if file.exists() else []

    def append(self, key: str, messages: Sequence[Message]) -> None:
        self._file(key).write_bytes(msgspec.json.encode([*self.load(key), *messages]))


@pytest.fixture(params=["memory", "files"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ConversationStore:
    return InMemoryStore() if request.param == "memory" else FileStore(tmp_path)  # type: ignore[return-value]


async def test_two_tenants_and_two_users_with_one_name_for_their_conversation(store: ConversationStore) -> None:
    await everybody_reads_their_own(store)


async def test_keys_that_look_alike_are_different(store: ConversationStore) -> None:
    await keys_that_look_alike_are_different(store)


async def test_without_a_tenant_and_a_user_the_key_is_the_conversation() -> None:
    store = InMemoryStore()
    await ChatClient(model=ScriptedModel(["Hello."]), store=store).call("Hi", conversation="c1")
    assert [message.content for message in await store.load("c1")] == ["Hi", "Hello."]

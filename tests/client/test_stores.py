"""Stores of `ChatClient`: no conversation crosses tenants or users, whatever they call it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from assistant.client import ChatClient, ConversationStore, InMemoryStore, Message
from assistant.providers import ScriptedModel

PEOPLE = [("acme", "ann"), ("acme", "bob"), ("globex", "ann"), ("globex", "bob")]


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


async def say(client: ChatClient, text: str, tenant: str, user: str) -> None:
    context = {"tenant": {"slug": tenant}, "user": {"username": user}}
    await client.call(text, conversation="c1", context=context)


async def test_two_tenants_and_two_users_with_one_name_for_their_conversation(store: ConversationStore) -> None:
    model = ScriptedModel(["Noted."] * 8)
    client = ChatClient(model=model, store=store)
    for tenant, user in PEOPLE:
        await say(client, f"I am {user} of {tenant}.", tenant, user)
    for tenant, user in PEOPLE:
        await say(client, "Who am I?", tenant, user)
    for (tenant, user), request in zip(PEOPLE, model.requests[4:], strict=True):
        asked = [message.content for message in request.messages if message.role == "user"]
        assert asked == [f"I am {user} of {tenant}.", "Who am I?"]


async def test_keys_that_look_alike_are_different(store: ConversationStore) -> None:
    model = ScriptedModel(["Noted."] * 4)
    client = ChatClient(model=model, store=store)
    for tenant, user in itertools.product(["a", "a/b"], ["c", "b/c"]):
        await say(client, "Hi", tenant, user)
    assert all(len(request.messages) == 1 for request in model.requests)


async def test_without_a_tenant_and_a_user_the_key_is_the_conversation() -> None:
    store = InMemoryStore()
    await ChatClient(model=ScriptedModel(["Hello."]), store=store).call("Hi", conversation="c1")
    assert [message.content for message in await store.load("c1")] == ["Hi", "Hello."]

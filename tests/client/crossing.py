"""What each store of `ChatClient` is held to: no conversation crosses tenants or users."""

from __future__ import annotations

import itertools

from assistant.client import ChatClient, ConversationStore
from assistant.providers import ScriptedModel

PEOPLE = [("acme", "ann"), ("acme", "bob"), ("globex", "ann"), ("globex", "bob")]
ALIKE = list(itertools.product(["a", "a/b"], ["c", "b/c"]))


async def _say(client: ChatClient, text: str, tenant: str, user: str) -> None:
    context = {"tenant": {"slug": tenant}, "user": {"username": user}}
    await client.call(text, conversation="c1", context=context)


async def everybody_reads_their_own(store: ConversationStore) -> None:
    model = ScriptedModel(["Noted."] * 8)
    client = ChatClient(model=model, store=store)
    for tenant, user in PEOPLE:
        await _say(client, f"I am {user} of {tenant}.", tenant, user)
    for tenant, user in PEOPLE:
        await _say(client, "Who am I?", tenant, user)
    for (tenant, user), request in zip(PEOPLE, model.requests[4:], strict=True):
        asked = [message.content for message in request.messages if message.role == "user"]
        assert asked == [f"I am {user} of {tenant}.", "Who am I?"]


async def keys_that_look_alike_are_different(store: ConversationStore) -> None:
    model = ScriptedModel(["Noted."] * 4)
    client = ChatClient(model=model, store=store)
    for tenant, user in ALIKE:
        await _say(client, "Hi", tenant, user)
    assert all(len(request.messages) == 1 for request in model.requests)

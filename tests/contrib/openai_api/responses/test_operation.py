"""What operators rely on: the switch, streams that proxies keep open, and privacy of what responses store."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx2
import openai
import pytest
from django.conf import settings
from django.utils import timezone

from assistant.contrib.data_exports.exports import export_tenant, export_user
from assistant.models import Attachment, Conversation, Message, Provider, Retention, Run
from assistant.services.privacy.erasure import erase_tenant, erase_user
from assistant.services.privacy.retention import apply_retention
from tests.api.calling import key_of
from tests.base import Cast
from tests.contrib.data_exports.test_exports import archive_of
from tests.contrib.openai_api.test_completions import client_of
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.services.privacy.test_erasure import found_in
from tests.websocket.test_websocket import in_db

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def quick(django_db_setup: None) -> Iterator[Server]:
    """A server that writes files where this process reads them, and whose silent streams get comments soon."""
    environment = {"DJANGO_SETTINGS_MODULE": "tests.contrib.openai_api.responses.quick_settings"}
    with serve(env={**environment, "SHARED_ATTACHMENTS": settings.ASSISTANT_ATTACHMENTS_DIR}) as server:
        yield server


@pytest.mark.parametrize("door", ["responses", "a later reader", "chat"])
async def test_a_silent_stream_gets_comments(
    door: str, quick: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    key = await in_db(key_of)(cast.acme, cast.alice)
    headers = {"Authorization": f"Bearer {key}"}
    is_chat = door == "chat"
    body = {"messages": [{"role": "user", "content": "Hi"}]} if is_chat else {"input": "Hi"}
    if door == "a later reader":
        body["background"] = True
    async with httpx2.AsyncClient(base_url=f"{quick.url}/v1", headers=headers, timeout=60) as http:
        address, method = ("/chat/completions" if is_chat else "/responses"), "POST"
        wanted = {"model": "support", "stream": True, **body}
        if door == "a later reader":
            made = (await http.post(address, json={**wanted, "stream": False})).json()
            address, method, wanted = f"/responses/{made['id']}?stream=true", "GET", None
        async with http.stream(method, address, json=wanted) as answer:
            lines = []
            async for line in answer.aiter_lines():
                lines.append(line)
                if line == ": keep-alive":
                    gate.release()
    assert lines.count(": keep-alive") >= 1
    assert any('"lo"' in line for line in lines)
    assert "data: [DONE]" in lines


async def store(server: Server, cast: Cast, fake_provider: FakeProvider) -> tuple[str, str]:
    """Store a response with a file, alone and in a conversation. Return the response's id and the file's."""
    fake_provider.reply("The swordfish is kept.")
    fake_provider.reply("And this too.")
    async with client_of(server, cast) as client:
        file = await client.files.create(file=("swordfish.txt", b"swordfish"), purpose="user_data")
        part = {"type": "input_file", "file_id": file.id}
        text = {"type": "input_text", "text": "Where is the swordfish?"}
        said = [{"role": "user", "content": [text, part]}]
        alone = await client.responses.create(
            model="support", input=said, metadata={"order": "swordfish"}, instructions="Mind the swordfish."
        )
        await client.responses.create(model="support", input="swordfish?", conversation="swordfish-thread")
    return alone.id, file.id


def stored_files() -> list[str]:
    return [one.name for one in Path(settings.ASSISTANT_ATTACHMENTS_DIR).rglob("*") if one.is_file()]


@pytest.mark.parametrize("whose", ["tenant", "user"])
async def test_an_export_has_them_and_an_erasure_leaves_nothing(
    whose: str,
    quick: Server,
    cast: Cast,
    provider: Provider,
    fake_provider: FakeProvider,
) -> None:
    shutil.rmtree(settings.ASSISTANT_ATTACHMENTS_DIR, ignore_errors=True)
    response, file = await store(quick, cast, fake_provider)
    subject = {"tenant": cast.acme} if whose == "tenant" else {"user": cast.alice}
    export, erase = (export_tenant, erase_tenant) if whose == "tenant" else (export_user, erase_user)
    found = await in_db(archive_of)(export, **subject, actor=cast.root)
    runs = [json.loads(line) for line in found["assistant.Run.jsonl"].splitlines()]
    assert response in [one["run_id"] for one in runs]
    assert (
        "swordfish" in found["assistant_openai_api.StoredResponse.jsonl"]
        and "swordfish" in found["assistant.Message.jsonl"]
    )
    assert "swordfish-thread" in found["assistant.Conversation.jsonl"]
    assert file.removeprefix("file-") in found["assistant.Attachment.jsonl"].replace("-", "")
    assert [text for name, text in found.items() if name.startswith("assistant.Attachment/")].count("swordfish") >= 1
    await in_db(erase)(**subject, actor=cast.root)
    assert await in_db(found_in)("swordfish") == [] and stored_files() == []


async def test_retention_deletes_them(
    quick: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    shutil.rmtree(settings.ASSISTANT_ATTACHMENTS_DIR, ignore_errors=True)
    response, file = await store(quick, cast, fake_provider)
    await Retention.objects.acreate(tenant=cast.acme, conversations=30, files=30)
    assert await in_db(apply_retention)(tenant=cast.acme) == {}
    long_ago = timezone.now() - timedelta(days=31)
    await Conversation.objects.aupdate(updated_at=long_ago)
    await Attachment.objects.aupdate(created_at=long_ago)
    await in_db(apply_retention)(tenant=cast.acme)
    async with client_of(quick, cast) as client:
        for lost in (client.responses.retrieve(response), client.files.retrieve(file)):
            with pytest.raises(openai.NotFoundError):
                await lost
    assert not await Run.objects.aexists() and not await Message.objects.aexists()
    assert not await Attachment.objects.aexists() and stored_files() == []

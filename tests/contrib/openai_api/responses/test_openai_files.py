"""The Files API, and files in the input of responses, through the openai package."""

from __future__ import annotations

import base64
from typing import Any

import openai
import pytest

from assistant.models import Attachment, Provider, TenantLimits
from tests.api.calling import Caller as RestCaller
from tests.api.calling import key_of
from tests.base import Cast
from tests.contrib.openai_api.test_completions import client_of
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.services.files import samples
from tests.services.knowledge.pdf import make_pdf
from tests.websocket.test_websocket import in_db

pytestmark = pytest.mark.django_db(transaction=True)
PNG, NOTE = samples.PNG, b"The umbrella may be returned within 30 days."
PICTURE = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"


def asking(*parts: dict[str, Any]) -> Any:
    return [{"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, *parts]}]


async def test_a_file_is_uploaded_listed_read_and_deleted(uvicorn_server: Server, cast: Cast) -> None:
    async with client_of(uvicorn_server, cast) as client:
        made = await client.files.create(file=("note.txt", NOTE), purpose="user_data")
        await client.files.create(file=("picture.png", PNG), purpose="vision")
        assert (made.filename, made.bytes, made.purpose, made.status) == (
            "note.txt",
            len(NOTE),
            "user_data",
            "processed",
        )
        assert made.expires_at and made.expires_at - made.created_at == 24 * 3600
        assert [one.filename async for one in client.files.list(order="asc")] == ["note.txt", "picture.png"]
        assert [one.filename async for one in client.files.list(purpose="vision")] == ["picture.png"]
        assert [one.filename async for one in client.files.list(limit=1)] == ["picture.png", "note.txt"]
        assert await client.files.retrieve(made.id) == made
        assert (await client.files.content(made.id)).content == NOTE
        assert (await client.files.delete(made.id)).deleted
        with pytest.raises(openai.NotFoundError):
            await client.files.retrieve(made.id)


async def test_a_file_is_found_by_its_key_alone(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with client_of(uvicorn_server, cast) as client:
        made = await client.files.create(file=("note.txt", NOTE), purpose="user_data")
    keys = [await in_db(key_of)(cast.acme, cast.alice), await in_db(key_of)(cast.globex, cast.mallory)]
    for key in keys:
        async with openai.AsyncOpenAI(base_url=f"{uvicorn_server.url}/v1", api_key=key, max_retries=0) as other:
            assert [one async for one in other.files.list()] == []
            for call in (other.files.retrieve, other.files.content, other.files.delete):
                with pytest.raises(openai.NotFoundError):
                    await call(made.id)
            with pytest.raises(openai.BadRequestError) as refused:
                await other.responses.create(model="support", input=asking({"type": "input_file", "file_id": made.id}))
            assert refused.value.code == "attachment_refused"
    row = await in_db(Attachment.objects.get)()
    caller = await in_db(RestCaller)(cast.acme, cast.alice)
    for method in ("get", "delete"):
        assert (await in_db(caller)(method, f"attachments/{row.pk}/")).status_code == 404
    # It would be moved into the conversation.
    begun = (await in_db(caller)("post", "conversations/", {"assistant": "support"})).json()
    sent = await in_db(caller)(
        "post", f"conversations/{begun['id']}/runs/", {"message": "Hi", "attachments": [str(row.pk)]}
    )
    assert (sent.status_code, sent.json()["code"]) == (400, "attachment_refused"), sent.content
    assert await in_db(Attachment.objects.count)() == 1


async def test_a_file_is_used_again_and_again(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await Provider.objects.aupdate(sees_images=True)
    async with client_of(uvicorn_server, cast) as client:
        note = await client.files.create(file=("note.txt", NOTE), purpose="user_data")
        picture = await client.files.create(file=("picture.png", PNG), purpose="vision")
        both = asking(
            {"type": "input_file", "file_id": note.id},
            {"type": "input_image", "file_id": picture.id, "detail": "auto"},
        )
        first = await client.responses.create(model="support", input=both)
        await client.responses.create(model="support", input=both)
        await client.files.delete(note.id)
        # Messages keep their copies.
        await client.responses.create(model="support", input="And now?", previous_response_id=first.id)
        items = await client.responses.input_items.list(first.id)
    for request in fake_provider.requests:
        content = request.messages[1]["content"]
        assert "within 30 days" in str(content) and PICTURE in str(content)
    kinds = [part.type for part in items.data[0].content]  # type: ignore[union-attr]
    assert kinds == ["input_text", "input_file", "input_image"]


async def test_files_within_the_input(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await Provider.objects.aupdate(sees_images=True)
    data = f"data:text/plain;base64,{base64.b64encode(NOTE).decode()}"
    parts = [
        {"type": "input_image", "image_url": PICTURE, "detail": "high"},
        {"type": "input_file", "filename": "note.txt", "file_data": data},
    ]
    async with client_of(uvicorn_server, cast) as client:
        await client.responses.create(model="support", input=asking(*parts))
        for address in (
            {"type": "input_image", "image_url": "https://example.com/a.png"},
            {"type": "input_file", "file_url": "https://example.com/a.pdf"},
            {"type": "input_file", "file_data": "https://example.com/a.pdf"},
        ):
            with pytest.raises(openai.BadRequestError, match="not fetched") as refused:
                await client.responses.create(model="support", input=asking(address))
            assert refused.value.code == "attachment_refused"
    content = str(fake_provider.requests[-1].messages[1]["content"])
    assert "within 30 days" in content and PICTURE in content


async def test_limits_and_kinds_are_those_of_attachments(uvicorn_server: Server, cast: Cast) -> None:
    async with client_of(uvicorn_server, cast) as client:
        with pytest.raises(openai.APIStatusError) as refused:
            await client.files.create(file=("a.bin", b"\x00\x01\x02\xff" * 50), purpose="user_data")
        assert (refused.value.status_code, refused.value.code) == (415, "file_type")
        with pytest.raises(openai.BadRequestError, match="purpose"):
            await client.files.create(file=("note.txt", NOTE), purpose="batch")
        with pytest.raises(openai.BadRequestError, match="expires_after"):
            await client.files.create(
                file=("note.txt", NOTE), purpose="user_data", expires_after={"anchor": "created_at", "seconds": 3600}
            )
        await in_db(TenantLimits.objects.update_or_create)(tenant=cast.acme, defaults={"attachment_kinds": "none"})
        with pytest.raises(openai.PermissionDeniedError) as off:
            await client.files.create(file=("note.txt", NOTE), purpose="user_data")
        assert off.value.code == "attachments_off"
    assert not await in_db(Attachment.objects.exists)()


async def test_a_response_continues_one_with_files_that_its_model_cannot_read(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await Provider.objects.aupdate(sees_images=True, reads_pdfs=True)
    picture, scan = {"type": "input_image", "image_url": PICTURE}, base64.b64encode(make_pdf("")).decode()
    file = {"type": "input_file", "filename": "scan.pdf", "file_data": f"data:application/pdf;base64,{scan}"}
    async with client_of(uvicorn_server, cast) as client:
        first = await client.responses.create(model="support", input=asking(picture, file))
        await Provider.objects.aupdate(sees_images=False, reads_pdfs=False)
        second = await client.responses.create(model="support", input="Sure?", previous_response_id=first.id)
        told = str(fake_provider.requests[-1].messages)
        assert second.status == "completed"
        assert "an attached image that is not shown here" in told and "It holds only pictures of pages" in told
        for part in (picture, file):
            with pytest.raises(openai.BadRequestError) as refused:
                await client.responses.create(model="support", input=asking(part), previous_response_id=first.id)
            assert refused.value.code == "attachment_refused"

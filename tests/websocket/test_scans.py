"""PDFs of pictures of text: models that read PDFs get them, and a conversation with them goes on with any other."""

from __future__ import annotations

import json

import pytest

from assistant.models import Assistant, Provider, Run
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.services.knowledge.pdf import make_pdf
from tests.websocket.test_attachments import part, say, sent, upload, with_parts
from tests.ws import open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)
NOTE = "It holds only pictures of pages, which are not shown here, and no text."


async def test_a_scan_is_read_and_another_model_is_told_of_it(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await Provider.objects.aupdate(reads_pdfs=True)
    await Assistant.objects.filter(pk=cast.support.pk).aupdate(other_models=["deepseek-chat"])
    scan = await upload(uvicorn_server, cast, "scan.pdf", make_pdf("", ""))
    frame = with_parts("What does it say?", part(scan))
    thread = frame["threadId"]
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        fake_provider.reply("Thirty days.")
        assert (await say(socket, frame))["type"] == "RUN_FINISHED"
        file = next(one for one in sent(fake_provider) if one["type"] == "file")["file"]
        assert file["filename"] == "scan.pdf" and file["file_data"].startswith("data:application/pdf;base64,")
        other = run_input("And who says so?", thread=thread, forwardedProps={"model": "deepseek-chat"})
        assert (await say(socket, other))["type"] == "RUN_FINISHED"
        told = json.dumps(fake_provider.requests[-1].json)
        assert NOTE in told and "Name: scan.pdf" in told and "file_data" not in told
        await Provider.objects.aupdate(reads_pdfs=False)
        assert (await say(socket, run_input("Really?", thread=thread)))["type"] == "RUN_FINISHED"
        assert NOTE in json.dumps(fake_provider.requests[-1].json)


async def test_a_new_scan_is_refused_before_a_model_that_reads_none_is_asked(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await Provider.objects.aupdate(reads_pdfs=True)
    scan = await upload(uvicorn_server, cast, "scan.pdf", make_pdf(""))
    await Provider.objects.aupdate(reads_pdfs=False)
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        refused = await say(socket, with_parts("What does it say?", part(scan)))
        assert refused["code"] == "attachment_refused" and "cannot read “scan.pdf”" in refused["message"]
        assert not fake_provider.requests and not await Run.objects.acount()
        await Provider.objects.aupdate(reads_pdfs=True)
        assert (await say(socket, with_parts("What does it say?", part(scan))))["type"] == "RUN_FINISHED"

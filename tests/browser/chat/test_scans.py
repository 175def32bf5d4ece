"""PDFs of pictures of text in the chat page: sent to models that read PDFs, said before sending for others."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from assistant.models import Attachment, Provider, Tenant
from tests.browser.acts import answered
from tests.browser.chat.test_attachments import chips, choose, see
from tests.fake_provider import FakeProvider
from tests.services.knowledge.pdf import make_pdf

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
SCAN = {"name": "scan.pdf", "mimeType": "application/pdf", "buffer": make_pdf("")}


async def test_a_model_that_cannot_read_a_scan_is_said_before_sending(page: Page) -> None:
    acme = await Tenant.objects.aget(slug="acme")
    await Provider.objects.acreate(tenant=acme, name="Another", default_model="m", reads_pdfs=True)
    async with page.expect_response(lambda answer: answer.request.method == "DELETE") as deleted:
        await choose(page, SCAN)
    await expect(chips(page)).to_contain_text("cannot read this PDF, which holds only pictures of text")
    await page.get_by_label("Message to").fill("What does it say?")
    # Sent, the message leaves it behind.
    await expect(page.get_by_role("button", name="Send")).to_be_enabled()
    await see(page, "cannot-read-scan")
    assert (await deleted.value).status == 204 and not await Attachment.objects.aexists()
    await page.get_by_role("button", name="Remove scan.pdf").click()
    await expect(page.get_by_role("button", name="Send")).to_be_enabled()


async def test_a_scan_is_sent_to_a_model_that_reads_pdfs(page: Page, fake_provider: FakeProvider) -> None:
    await Provider.objects.aupdate(reads_pdfs=True)
    await page.reload()
    await choose(page, SCAN)
    await expect(chips(page)).to_have_attribute("data-state", "done")
    await page.get_by_label("Message to").fill("What does it say?")
    fake_provider.reply("Thirty days.")
    await page.get_by_role("button", name="Send").click()
    await answered(page)
    await see(page, "sent-scan")
    assert [one["type"] for one in fake_provider.requests[-1].json["messages"][-1]["content"]] == ["text", "file"]

"""What is said is written where the cursor is, once that is agreed to; a browser that cannot do it shows no button."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.acts import fits, questions
from tests.browser.conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
PICTURES = os.environ.get("PICTURES", "")
# Stands for what browsers have: no service writes speech down in a test.
SPEECH = """
window.webkitSpeechRecognition = class {
  constructor() { window.ear = this; }
  start() { this.isOn = true; }
  stop() { this.isOn = false; this.onend(); }
};
window.SpeechRecognition = undefined;
window.say = (text, isFinal) => {
  const result = Object.assign([{ transcript: text }], { isFinal });
  ear.onresult({ results: [result], resultIndex: 0 });
};
"""
WITHOUT = "window.SpeechRecognition = window.webkitSpeechRecognition = undefined;"


async def opened(visitor: Visitor, script: str) -> Page:
    await visitor.context.add_init_script(script)
    return await visitor.open()


async def picture(page: Page, name: str) -> None:
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png")


async def said(page: Page, text: str, is_final: bool) -> None:
    await page.evaluate("([text, isFinal]) => say(text, isFinal)", [text, is_final])


async def test_what_is_said_goes_to_the_cursor_and_is_not_sent(alice_browser: Visitor) -> None:
    page = await opened(alice_browser, SPEECH)
    box = page.get_by_label("Message to")
    button = page.get_by_role("button", name="Dictate", exact=True).first
    await box.fill("Please")
    await button.click()
    note = page.locator(".dictation-note")
    await expect(note).to_contain_text("a service of its maker")
    assert await page.evaluate("window.ear") is None  # nobody listens before that is agreed to
    await picture(page, "dictation-asks")
    await note.get_by_role("button", name="Dictate").click()
    await expect(button).to_have_attribute("aria-pressed", "true")
    await said(page, "tell me", False)
    await expect(note).to_have_text("tell me")
    await picture(page, "dictation-hears")
    await said(page, "tell me more", True)
    await expect(box).to_have_value("Please tell me more")
    await page.keyboard.press("Escape")
    await expect(button).to_have_attribute("aria-pressed", "false")
    await expect(note).to_be_hidden()
    await expect(questions(page)).to_have_count(0)
    await page.reload()
    await button.click()  # it was agreed to
    await expect(button).to_have_attribute("aria-pressed", "true")
    assert await page.evaluate("ear.isOn && ear.lang.startsWith('en')")


async def test_why_it_failed_is_said_and_sending_ends_it(alice_browser: Visitor, fake_provider: Any) -> None:
    fake_provider.reply("Hello.")
    page = await opened(alice_browser, f"localStorage.setItem('dictation', 'yes');{SPEECH}")
    button = page.get_by_role("button", name="Dictate", exact=True)
    await button.click()
    await expect(button).to_have_attribute("aria-pressed", "true")
    await page.evaluate("ear.onerror({ error: 'not-allowed' }); ear.onend()")
    await expect(page.locator(".dictation-note")).to_have_text("The browser does not allow the microphone here.")
    await button.click()
    await said(page, "Good morning", True)
    await page.keyboard.press("Enter")
    await expect(questions(page)).to_have_text("Good morning")
    assert await page.evaluate("ear.isOn") is False


async def test_a_browser_that_cannot_do_it_has_no_button(alice_browser: Visitor) -> None:
    page = await opened(alice_browser, WITHOUT)
    await expect(page.locator(".dictation")).to_have_count(1)
    await expect(page.locator(".dictate")).to_be_hidden()


async def test_on_a_phone_it_fits(phone: Visitor) -> None:
    page = await opened(phone, SPEECH)
    await page.get_by_role("button", name="Dictate", exact=True).tap()
    await expect(page.locator(".dictation-note")).to_be_visible()
    await picture(page, "dictation-phone")
    assert await fits(page)

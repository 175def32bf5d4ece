"""An answer looks finished while it is written: its text only grows, its height does not shrink."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page, expect

from assistant.markdown.render import render_blocks
from tests.answers import ANSWERS, certain, recorded
from tests.browser.acts import answered, ask, last_answer
from tests.fake_provider import FakeProvider
from tests.vectors import CORPUS

pytestmark = [
    pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600),
]  # fmt: skip
MOST_HELD = 40
LINE_PIXELS = 30

# Plays recorded answers, and looks at the page after each token: before the server's blocks, and after them.
PLAY = """async ([records, heldMost, line]) => {
  const base = document.querySelector("script[type=module]").src;
  const { Answer } = await import(new URL("transcript.js", base));
  const { drawFormulas } = await import(new URL("formula.js", base));
  const place = document.getElementById("transcript");
  const visible = (element, without = "button") => {
    const copy = element.cloneNode(true);
    for (const one of copy.querySelectorAll(without)) one.remove();
    return copy.textContent.replace(/\\s/g, "");
  };
  const found = [];
  const finalOf = (html) => {
    const holder = document.createElement("div");
    holder.innerHTML = html;
    drawFormulas(holder);
    return visible(holder);
  };
  const play = ({ steps, certain, html }, number) => {
    const final = finalOf(html);
    const answer = new Answer(`a${number}`);
    answer.isStreaming = true;
    place.replaceChildren(answer.element);
    let height = 0;
    const look = (kind, at) => {
      answer.flush();
      const shown = visible(answer.element);
      const now = place.scrollHeight;
      const about = { number, at, kind };
      if (!final.startsWith(shown)) {
        let same = 0;
        while (final[same] === shown[same]) same += 1;
        found.push({ ...about, shows: shown.slice(same - 20), instead: final.slice(same - 20, same + 20) });
      }
      const text = visible(answer.element, "button, .formula");
      if (text.length < certain[at] - heldMost) found.push({ ...about, held: certain[at] - text.length });
      if (now < height - line) found.push({ ...about, shrinks: height - now });
      height = now;
    };
    steps.forEach(([delta, blocks], at) => {
      answer.append(delta);
      look("before", at);
      for (const block of blocks) answer.close(block);
      look("after", at);
    });
    answer.isStreaming = false;
    const whole = new Answer(`a${number}`);
    whole.append(steps.map(([delta]) => delta).join(""));
    for (const [, blocks] of steps) for (const block of blocks) whole.close(block);
    whole.flush();
    // The columns of a table stay as wide as they were while it was written.
    for (const one of answer.element.querySelectorAll("table, th")) one.removeAttribute("style");
    for (const one of whole.element.querySelectorAll("table, th")) one.removeAttribute("style");
    if (whole.element.outerHTML !== answer.element.outerHTML) found.push({ number, reload: answer.element.outerHTML });
  };
  const first = document.createElement("div");
  first.innerHTML = '<i class="formula">x</i>';
  drawFormulas(first);
  while (!first.querySelector("math")) await new Promise((done) => setTimeout(done, 10));
  records.forEach(play);
  return found;
}"""


# Draws each text at once and as it grows, and returns what a model's text must not make.
DRAW = """async (texts) => {
  const base = document.querySelector("script[type=module]").src;
  const { blocks } = await import(new URL("draw/blocks.js", base));
  const { show } = await import(new URL("draw/nodes.js", base));
  const place = document.getElementById("transcript");
  const inline = "A BR CODE EM KBD S SPAN STRONG SUP";
  const block = "BLOCKQUOTE DETAILS DIV H3 H4 H5 H6 HR LI OL P PRE SUMMARY TABLE TBODY TD TH THEAD TR UL";
  const allowed = new Set(`${inline} ${block}`.split(" "));
  const attributes = new Set("class dir href title target rel start data-code tabindex".split(" "));
  const found = [];
  for (const text of texts) {
    place.replaceChildren();
    for (let end = 1; end <= text.length; end += end < 300 ? 1 : 50) {
      show(place, blocks(text.slice(0, end)).kids, () => {});
    }
    show(place, blocks(text, false).kids, () => {});
    for (const one of place.querySelectorAll("*")) {
      if (one.namespaceURI.endsWith("MathML")) {
        if ([...one.attributes].some(({ name }) => /^on|href|src/.test(name))) found.push(one.outerHTML);
        continue;
      }
      const isLink = one.localName === "a" && one.href;
      const isOdd = [...one.attributes].some(({ name }) => !attributes.has(name));
      const isUnsafe = isLink && !/^(https?:|mailto:)/.test(one.href);
      if (!allowed.has(one.tagName) || isOdd || isUnsafe) found.push(one.outerHTML);
    }
  }
  return found;
}"""


async def record(text: str) -> dict[str, Any]:
    return {"steps": await recorded(text), "certain": certain(text), "html": "".join(render_blocks(text))}


async def play(page: Page, texts: list[str]) -> list[dict[str, Any]]:
    records = [await record(text) for text in texts]
    found: list[dict[str, Any]] = await page.evaluate(PLAY, [records, MOST_HELD, LINE_PIXELS])
    return found


async def test_what_is_shown_is_always_a_beginning_of_what_will_be_shown(page: Page) -> None:
    assert len(ANSWERS) == 41
    assert await play(page, ANSWERS) == []


async def test_hostile_text_is_drawn_as_harmless_elements(page: Page) -> None:
    assert await page.evaluate(DRAW, [vector.text for vector in CORPUS]) == []


async def test_what_is_doubtful_is_shown_when_the_answer_pauses(page: Page, fake_provider: FakeProvider) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Look at **bold and [some long la", gate, "bel](https://a.example/b)** now."])
    await ask(page, "Slowly")
    await expect(last_answer(page).locator("strong")).to_have_text("bold and some long la")
    gate.release()
    await answered(page)
    await expect(last_answer(page)).to_have_text("Look at bold and some long label (a.example) now.")


async def test_a_selection_in_a_closed_block_survives(page: Page, fake_provider: FakeProvider) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["First paragraph.\n\nSecond", gate, " one.\n\n- a\n- b\n\nEnd."])
    await ask(page, "Go")
    await last_answer(page).locator(".closed").get_by_text("First paragraph.").select_text()
    gate.release()
    await answered(page)
    assert await page.evaluate("getSelection().toString().trim()") == "First paragraph."


async def test_the_end_is_what_a_reload_shows(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply(chunks=[ANSWERS[5], "\n\n", ANSWERS[8]])
    await ask(page, "Go")
    await answered(page)
    await page.wait_for_url("**/t/acme/c/*/")
    # What it is made by comes when the first block of code is there.
    wrap = last_answer(page).locator(".code .wrap")
    await expect(wrap).to_have_count(1)
    shown = await last_answer(page).inner_html()
    await page.reload()
    await expect(wrap).to_have_count(1)
    assert await last_answer(page).inner_html() == shown


async def test_the_copy_button_of_long_code_stays_in_sight(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("```python\n" + "print(1)\n" * 200 + "```\n")
    await ask(page, "Go")
    await answered(page)
    await expect(page.locator(".code .copy")).to_be_in_viewport()

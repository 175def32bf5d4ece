"""A page of another site that holds a client from docs/clients.md, and tokens for its visitors."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
import zipfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.async_api import Page, expect

from assistant.contrib.end_users.models import WidgetOrigin
from assistant.models import Run
from tests.agui_clients.door import RUNS
from tests.base import Cast
from tests.contrib.end_users.minting import backend, token_for
from tests.docs.snippets import ROOT, blocks
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.websocket.test_websocket import until

HERE = Path(__file__).parent
PAGE = """<!doctype html><meta charset="utf-8"><title>{client}</title><link rel="stylesheet" href="{client}.css">
<div id="chat" style="height: 90vh"></div>
<script type="module">
  import {{ start }} from "./{client}.js";
  start(document.getElementById("chat"), {options});
</script>"""
# `cut()` then ends the page's latest connection, as a network that fails does. Chromium's own switch for being offline
# lets connections live that are open already.
CUTTABLE = """
const real = window.fetch;
window.fetch = async (...given) => {
  const response = await real(...given);
  if (!response.body) return response;
  const reader = response.body.getReader();
  const body = new ReadableStream({
    start(controller) {
      window.cut = () => { controller.error(new TypeError("network error")); reader.cancel(); };
    },
    async pull(controller) {
      const { done, value } = await reader.read();
      done ? controller.close() : controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, response);
};
addEventListener("unhandledrejection", (event) => {
  if (event.reason?.message === "network error") event.preventDefault();
});
"""
COMPONENT = "ag-ui-web-component.bundle.js"
LOADERS = [f"--loader:.{ending}=dataurl" for ending in ("woff2", "woff", "ttf")]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing: pytest shows what a server writes."""


def unpack(client: str, folder: Path) -> None:
    """Write the client of that name from the document into a folder, with the web component's module from its wheel."""
    (wheel,) = HERE.glob("node_modules/.wheels/django_admin_agent-*.whl")
    with zipfile.ZipFile(wheel) as files:
        (folder / COMPONENT).write_bytes(files.read(f"django_admin_agent/static/django_admin_agent/{COMPONENT}"))
    (folder / f"{client}.js").write_text(_code(client, "js"))


def _code(client: str, language: str) -> str:
    (code,) = [block.text for block in blocks(ROOT / "docs/clients.md", language) if block.words == (client,)]
    return code


def bundle(client: str, folder: Path, *, language: str = "jsx", alias: str = "") -> None:
    """Write the client of that name from the document into a folder, as one module.

    Args:
        alias: a package in place of one that the code names, as in `--alias:NAME=OTHER`.
    """
    source = HERE / f"{client}.{language}"
    source.write_text(_code(client, language))
    try:
        command = ["node_modules/.bin/esbuild", source.name, "--bundle", "--format=esm", "--jsx=automatic"]
        options = [f"--outfile={folder / client}.js", '--define:process.env.NODE_ENV="production"', "--log-level=error"]
        options += [f"--alias:{alias}"] if alias else []
        subprocess.run([*command, *options, *LOADERS], cwd=HERE, check=True, timeout=120)
    finally:
        source.unlink()


@contextmanager
def site(client: str, folder: Path, server: Server, cast: Cast, thread: str = "main") -> Iterator[str]:
    """Serve the page on an origin that the assistant allows. Yields its address."""
    serving = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    origin = f"http://127.0.0.1:{serving.server_address[1]}"
    WidgetOrigin.objects.create(tenant=cast.acme, assistant=cast.support, origin=origin)
    options = {
        "url": server.url + RUNS.format(tenant="acme"),
        "token": token_for(backend(cast), "customer-1"),
        "threadId": thread,
    }
    (folder / "index.html").write_text(PAGE.format(client=client, options=json.dumps(options)))
    thread_of_server = threading.Thread(target=serving.serve_forever, daemon=True)
    thread_of_server.start()
    try:
        yield f"{origin}/index.html"
    finally:
        serving.shutdown()
        thread_of_server.join()
        serving.server_close()


async def runs_become(*statuses: str) -> None:
    """Wait until the runs have these statuses: a page shows an answer a moment before its run has ended."""
    await until(lambda: list(Run.objects.order_by("number").values_list("status", flat=True)) == list(statuses))


async def lose_connection(page: Page, fake_provider: FakeProvider, say: Callable[[Page, str], Awaitable[None]]) -> None:
    """Cut a page's connection in the middle of an answer, which is stored whole and goes into the next request."""
    await page.add_init_script(CUTTABLE)
    await page.reload()
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once upon", gate, " a time"])
    await say(page, "A story")
    await asyncio.to_thread(gate.wait_reached)
    await page.wait_for_function("!!window.cut")
    await page.evaluate("cut()")
    gate.release()
    await until(lambda: Run.objects.filter(status=Run.Status.FINISHED).exists())
    fake_provider.reply("The end.")
    await say(page, "Go on")
    await expect(page.get_by_text("The end.")).to_be_visible()
    texts = [str(message["content"]) for message in fake_provider.requests[-1].json["messages"][1:]]
    assert texts[:2] == ["A story", "Once upon a time"] and texts[-1].endswith("Go on")

"""A page of another site that holds a client from docs/clients.md, and tokens for its visitors."""

from __future__ import annotations

import json
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from assistant.models import WidgetOrigin
from tests.agui_clients.door import RUNS
from tests.base import Cast
from tests.docs.snippets import ROOT, blocks
from tests.live import Server
from tests.widget.minting import backend, token_for

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


def bundle(client: str, folder: Path) -> None:
    """Write the client of that name from the document into a folder, as one module."""
    code = _code(client, "jsx")
    source = HERE / f"{client}.jsx"
    source.write_text(code)
    try:
        command = ["node_modules/.bin/esbuild", source.name, "--bundle", "--format=esm", "--jsx=automatic"]
        options = [f"--outfile={folder / client}.js", '--define:process.env.NODE_ENV="production"', "--log-level=error"]
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

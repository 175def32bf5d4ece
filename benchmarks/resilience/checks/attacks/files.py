"""Uploaded files that are made to occupy the process that reads them."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.checks.attacks.schemas import TOKEN, _longest
from benchmarks.resilience.client import connected
from benchmarks.resilience.sites import SQLITE, Server, Site
from tests.fake_provider import FakeProvider
from tests.services.files import hostile_office
from tests.services.knowledge import hostile_pdf

TITLE = "Hostile files"
SECONDS, MEMORY_MB = 5, 128
HOW = (
    "Generated PDFs (a page of 800,000 operators, streams that inflate 80,000 times, forms within forms, loops, deep "
    "nesting, a huge map of characters, more text than is stored), Word files (190 MB of blanks, millions of "
    "paragraphs, deep tables, entities within entities), spreadsheets (a cell in the last place, a long text as the "
    "value of 200,000 cells, millions of cells, a thousand sheets) and pages of HTML (deep, without ends, with open "
    "quotes) are uploaded in the admin, two at a time, while another member chats. Reading one may take "
    f"{SECONDS} s and {MEMORY_MB} MB. One process, on SQLite, which lets one connection write at a time. The process's "
    "own watchdog says how long its event loop was held at the longest."
)
ENDED, HELD = "files that did not end as they should", "longest that the event loop was held"
TURN, MEMORY = "slowest turn beside them", "most memory of a reader"
# What the form says of a file that is refused. Which of them depends on the speed of the machine.
_REASONS = (
    "takes too long to read", "needs too much memory", "is broken", "holds no text", "is longer than",
    "unpacks to more than",
)  # fmt: skip
REFUSED = (
    "inflation", "operators", "forms", "many_inflations", "operands", "nested_dictionaries", "page_tree_loop",
    "character_map", "reference_loop", "long_text",
)  # fmt: skip
_IS_STORED = "stored"
STORED = ("nested_arrays", "xref_loop", "image")
HOSTILE = {**hostile_pdf.HOSTILE, **hostile_office.HOSTILE}
# Longer than reading may take, waiting for another reader included.
_PATIENCE_SECONDS = 6 * SECONDS


def read_in_the_server() -> None:
    """The server's own process reads the files."""
    from assistant.contrib.file_reading import office_worker, pdf_worker
    from assistant.contrib.file_reading import reading as files

    workers = {Path(str(one.__file__)): one.work for one in (pdf_worker, office_worker)}
    files.run_in_child_and_wait = lambda worker, task, limits: workers[worker](task)  # type: ignore[attr-defined]


def read_without_limits() -> None:
    """Readers have all the time and memory that they want."""
    from assistant.contrib.file_reading import reading as files
    from assistant.toolkit.processes.child import ChildLimits

    run, limitless = files.run_in_child_and_wait, ChildLimits(60, 2**36, 2**30)  # type: ignore[attr-defined]
    files.run_in_child_and_wait = lambda worker, task, limits: run(worker, task, limitless)  # type: ignore[attr-defined]


def read_within_the_transaction() -> None:
    """Files are read after Django has opened the transaction of the admin's form."""
    from assistant.contrib.panel.admin.assistants import documents as page

    content_of, get_form = page._content_of, page.DocumentAdmin.get_form

    def read_late(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        form = get_form(self, request, *args, **kwargs)
        form.content = content_of(request)
        return form

    page._content_of = lambda request: None
    page.DocumentAdmin.get_form = read_late  # type: ignore[method-assign]


FAULTS = (
    Fault("files are read in the server's process", HELD, read_in_the_server),
    Fault("readers have no limits", ENDED, read_without_limits),
    Fault("files are read within a transaction", TURN, read_within_the_transaction),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    env = {
        "ASSISTANT_METRICS_TOKEN": TOKEN,
        "ASSISTANT_FILE_READ_SECONDS": str(SECONDS),
        "ASSISTANT_FILE_READ_MEMORY_MB": str(MEMORY_MB),
        # One uploader never has all readers.
        "ASSISTANT_FILE_READ_PROCESSES": "3",
        "ASSISTANT_INTERNAL_HOSTS": "127.0.0.1",
    }
    with FakeProvider() as provider, testbed.site(SQLITE, provider.url, **env) as site, testbed.serve(site) as process:
        return asyncio.run(_measure(testbed, site, process))


async def _measure(testbed: Testbed, site: Site, process: Server) -> Sequence[Line]:
    every = (*REFUSED, *hostile_office.HOSTILE, *STORED)
    names = every[: testbed.scaled(len(every), least=2)]
    made = {name: HOSTILE[name]() for name in names}
    turns: list[float] = []
    chatting = asyncio.create_task(_chat(site, process, turns))
    # The first file imports the pages of the admin.
    await _upload_all(site, process, {"first": HOSTILE["xref_loop"]()})
    turns.clear()
    await asyncio.to_thread(_longest, process)
    await _until_turns(turns, 20)
    alone, slowest_alone = await asyncio.to_thread(_longest, process), max(turns)
    turns.clear()
    watching = asyncio.create_task(_most_memory(process))
    ended = await _upload_all(site, process, made)
    # With a planted fault no turn may have ended yet.
    await _until_turns(turns, 1)
    held = await asyncio.to_thread(_longest, process)
    chatting.cancel()
    watching.cancel()
    await asyncio.gather(chatting, return_exceptions=True)
    wrong = [f"{name} ({said})" for name, said in ended.items() if (said in _REASONS) == (name in STORED)]
    wrong += [f"{name} ({said})" for name, said in ended.items() if said not in (*_REASONS, _IS_STORED)]
    memory = await asyncio.gather(watching, return_exceptions=True)
    most = memory[0] if isinstance(memory[0], float) else 0.0
    return [
        Line(ENDED, len(wrong), "", 0, beside=f"of {len(names)}" + "".join(f", {one}" for one in wrong)),
        Line(HELD, held * 1000, "ms", 100, beside=f"without files {alone * 1000:.0f} ms"),
        Line(TURN, max(turns), "s", SECONDS / 2, beside=f"of {len(turns)}; without files {slowest_alone:.2f} s"),
        Line(MEMORY, most, "MB", MEMORY_MB),
    ]


async def _until_turns(turns: Sequence[float], number: int) -> None:
    async with asyncio.timeout(60):
        while len(turns) < number:
            await asyncio.sleep(0.05)


async def _chat(site: Site, process: Server, turns: list[float]) -> None:
    """One turn after the other; their durations."""
    async with connected(process.port, site.keys[0]) as client:
        while True:
            began = time.monotonic()
            await client.ask("Hello")
            turns.append(time.monotonic() - began)
            await asyncio.sleep(0.05)


async def _most_memory(process: Server) -> float:
    """Return the most memory that a reader had, in MB, when this is cancelled."""
    most = 0.0
    with suppress(asyncio.CancelledError):
        while True:
            most = max([most, *_peaks(process.process.popen.pid)])
            await asyncio.sleep(0.05)
    return most


def _peaks(server: int) -> Iterator[float]:
    """Yield the most memory that each reader of a server process had so far, in MB."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent == server and re.search(rb"(pdf|office)_worker", (folder / "cmdline").read_bytes()):
                peak = re.findall(r"VmHWM:\s+(\d+) kB", (folder / "status").read_text())[0]
                yield int(peak) / 1024


async def _upload_all(site: Site, process: Server, made: dict[str, bytes]) -> dict[str, str]:
    """Upload the files, two at a time; what the form said about each, or how its upload failed."""
    [(tenant,)] = site.database.rows("SELECT id FROM assistant_tenant WHERE slug = %s", "bench")
    page, places = f"{process.url}/admin/assistant/document/add/", asyncio.Semaphore(2)
    timeout = aiohttp.ClientTimeout(_PATIENCE_SECONDS)
    async with aiohttp.ClientSession(cookies={"sessionid": site.operator}, timeout=timeout) as http:
        async with http.get(page) as answer:
            cookies = {"csrftoken": answer.cookies["csrftoken"].value}

        async def upload(name: str) -> str:
            form = aiohttp.FormData({"tenant": str(tenant), "title": name, "kind": "pdf", "text": ""})
            form.add_field("csrfmiddlewaretoken", cookies["csrftoken"])
            form.add_field("file", made[name], filename=name + _suffix(made[name]))
            try:
                async with (
                    places,
                    http.post(
                        page, data=form, headers={"Referer": page}, cookies=cookies, allow_redirects=False
                    ) as answer,
                ):
                    return _said(answer.status, await answer.text())
            except (aiohttp.ClientError, TimeoutError) as exc:
                return type(exc).__name__

        said = await asyncio.gather(*map(upload, made))
    stored = {title for (title,) in site.database.rows("SELECT title FROM assistant_document")}
    return {name: _IS_STORED if name in stored else one for name, one in zip(made, said, strict=True)}


def _suffix(content: bytes) -> str:
    starts = {b"%PDF": ".pdf", b"<!do": ".html"}
    return starts.get(content[:4]) or (".docx" if b"word/document.xml" in content else ".xlsx")


def _said(status: int, text: str) -> str:
    known = [reason for reason in _REASONS if reason in text]
    return known[0] if status == 200 and known else f"status {status}"

"""PDFs that are made to occupy their reader: each ends with its text or a reason, within its limits."""

from __future__ import annotations

import os
import threading
from collections import Counter
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from pytest_django import Settings

from assistant.contrib.file_reading import reading
from assistant.models import Tenant
from assistant.models.knowledge import Document
from assistant.services.files.reader_turns import Uploader
from assistant.services.files.reading import FileText
from assistant.services.knowledge.documents import add_document
from assistant.services.knowledge.files import DocumentError, read_file
from tests.services.knowledge.hostile_pdf import HOSTILE
from tests.services.knowledge.pdf import make_pdf

pytestmark = pytest.mark.slow

SLOW = ("operators", "forms")
GROWING = ("inflation", "many_inflations")
BROKEN = ("operands", "nested_dictionaries", "page_tree_loop", "character_map")


def upload(tenant: Tenant, content: bytes) -> Document:
    return add_document(tenant=tenant, title="Upload", file=ContentFile(content, name="a.pdf"))


def readers(parent: int = os.getpid(), worker: bytes = b"pdf_worker") -> int:
    """How many readers run as children of a process, by default this one."""
    found = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_child = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1]) == parent
            found += is_child and worker in (folder / "cmdline").read_bytes()
        except OSError:
            continue
    return found


@pytest.mark.parametrize("name", SLOW)
def test_a_file_that_takes_too_long_is_refused(
    acme: Tenant, settings: Settings, counted: Counter[str], name: str
) -> None:
    settings.ASSISTANT_FILE_READ_SECONDS = 2
    with pytest.raises(DocumentError, match="This file takes too long to read"):
        upload(acme, HOSTILE[name]())
    assert counted["slow"] == 1
    assert readers() == 0
    assert not Document.objects.exists()


def test_a_file_that_takes_too_much_memory_is_refused(acme: Tenant, settings: Settings) -> None:
    settings.ASSISTANT_FILE_READ_MEMORY_MB = 128
    with pytest.raises(DocumentError, match="This file needs too much memory"):
        upload(acme, HOSTILE["operators"]())
    assert not Document.objects.exists()


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_beyond_the_parsers_own_bounds_is_refused(acme: Tenant, name: str) -> None:
    with pytest.raises(DocumentError, match="The file is broken"):
        upload(acme, HOSTILE[name]())


@pytest.mark.parametrize(("name", "reason"), [("reference_loop", "is a scan"), ("long_text", "longer than 2,000,000")])
def test_a_file_with_too_little_or_too_much_text_is_refused(
    acme: Tenant, settings: Settings, name: str, reason: str
) -> None:
    settings.ASSISTANT_OCR_SECONDS = 0
    with pytest.raises(DocumentError, match=reason):
        upload(acme, HOSTILE[name]())


@pytest.mark.parametrize("name", ["nested_arrays", "xref_loop", "image"])
def test_what_is_odd_beside_the_text_does_no_harm(acme: Tenant, settings: Settings, name: str) -> None:
    settings.ASSISTANT_FILE_READ_MEMORY_MB = 128
    assert upload(acme, HOSTILE[name]()).text == "Hello"


@pytest.mark.parametrize("name", GROWING)
def test_a_file_that_unpacks_to_very_much_is_refused_before_it_is_read(acme: Tenant, name: str) -> None:
    with pytest.raises(DocumentError, match="unpacks to more than can be read"):
        upload(acme, HOSTILE[name]())


@pytest.mark.parametrize(("count", "groups", "expected"), [(1, "abcd", 1), (2, "aaaa", 1), (2, "abab", 2)])
def test_readers_are_few_and_no_tenant_has_all(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, count: int, groups: str, expected: int
) -> None:
    settings.ASSISTANT_FILE_READ_SECONDS = 3
    settings.ASSISTANT_FILE_READ_PROCESSES = count
    reasons: list[str] = []
    at_once: list[int] = []
    lock = threading.Lock()
    read_in_child = reading._read_in_child

    def observed(worker: Path, task: bytes) -> tuple[str, FileText]:
        nonlocal running
        with lock:
            running += 1
            at_once.append(running)
        try:
            return read_in_child(worker, task)
        finally:
            with lock:
                running -= 1

    def read(number: int, group: str) -> None:
        # Different files: one that took too long is not read again.
        try:
            read_file(
                ContentFile(hostile + b"%" * number, name="a.pdf"), uploader=Uploader(f"{group}-{count}-{groups}")
            )
        except DocumentError as exc:
            reasons.append(str(exc).split(".")[0])

    running = 0
    monkeypatch.setattr(reading, "_read_in_child", observed)
    hostile = HOSTILE["forms"]()
    threads = [threading.Thread(target=read, args=one) for one in enumerate(groups)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(at_once) == expected
    assert len(reasons) == len(groups)
    assert read_file(ContentFile(make_pdf("Hello"), name="a.pdf"), uploader=Uploader("c")).text == "Hello"

"""Word, Excel and HTML files that are made to occupy their reader: each ends with a reason, within its limits."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings

from assistant.models import Attachment
from assistant.services.files.kinds import FileRefused, detect
from assistant.services.files.reader_turns import Uploader
from assistant.services.files.reading import read_text
from tests.contrib.file_reading.test_hostile_files import readers
from tests.services.files.hostile_office import HOSTILE, docx
from tests.services.files.office_parts import WORD
from tests.services.files.samples import UPLOADER

pytestmark = pytest.mark.slow

SLOW = "takes too long to read"
MEMORY = "needs too much memory"
# Which of the first two comes first depends on the machine.
REASONS = {
    "unpacked_word": ("unpacks to more than can be read",),
    "many_paragraphs": ("unpacks to more than can be read",),
    "many_elements": (SLOW, MEMORY),
    "open_quotes": (SLOW, MEMORY),
    "far_cell": (MEMORY,),
    "shared_string": (MEMORY, "is longer than"),
    "many_cells": ("unpacks to more than can be read",),
    "many_sheets": (SLOW, "is longer than"),
    "long_word": (SLOW, "is longer than"),
    "deep_tables": ("is broken",),
    "entities": ("is broken",),
    "deep_page": (SLOW, "is broken"),
    "nested_lists": (SLOW, "is broken"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_with_a_reason(settings: Settings, name: str) -> None:
    settings.ASSISTANT_FILE_READ_SECONDS = 4
    settings.ASSISTANT_FILE_READ_MEMORY_MB = 128
    content = HOSTILE[name]()
    with pytest.raises(FileRefused) as refusal:
        read_text(content, detect(content, ""), uploader=Uploader(name))
    assert any(reason in str(refusal.value) for reason in REASONS[name]), refusal.value
    assert readers(worker=b"office_worker") == 0


def test_a_word_file_reads_no_other_file(tmp_path: Path) -> None:
    (secret := tmp_path / "secret.txt").write_text("of another tenant")
    body = "<w:p><w:r><w:t>Hello &secret;</w:t></w:r></w:p>"
    head = f'<!DOCTYPE d [<!ENTITY secret SYSTEM "{secret.as_uri()}">]>'
    content = docx(f'{head}<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>')
    kind = detect(content, "a.docx")
    assert kind.kind is Attachment.Kind.DOCX
    try:
        text = read_text(content, kind, uploader=UPLOADER).text
    except FileRefused:
        text = ""
    assert "another tenant" not in text

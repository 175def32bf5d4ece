"""The core alone reads plain text; of other kinds it says which app reads them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assistant.models import Attachment, Tenant
from assistant.services.files import reading
from assistant.services.files.attachments import read_upload
from assistant.services.files.kinds import FileRefused, detect
from assistant.services.files.limits import attachment_limits
from assistant.services.files.reading import read_text
from tests.services.files import samples

APP = "file_reading"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(reading, "_reader", None)
    yield


def read(name: str, content: bytes) -> str:
    return read_text(content, detect(content, name), uploader=samples.UPLOADER).text


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [("a.md", b"# Title\n", "# Title\n"), ("a.csv", b"a;b\n", "a;b\n"), ("a.png", samples.PNG, "")],
)
def test_text_and_images_are_read(name: str, content: bytes, text: str) -> None:
    assert read(name, content) == text


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.pdf", b"%PDF-1.7"), ("a.docx", samples.make_docx("Thirty days.")), ("a.html", b"<h1>Title</h1>")],
)
def test_what_must_be_parsed_is_refused_with_the_app_that_reads_it(name: str, content: bytes) -> None:
    with pytest.raises(FileRefused, match=APP) as refused:
        read(name, content)
    assert refused.value.code == "file_type"


def test_only_what_is_read_is_offered_and_a_refusal_names_the_app(acme: Tenant) -> None:
    limits = attachment_limits(acme)
    assert limits.kinds == {Attachment.Kind.IMAGE.value, Attachment.Kind.TEXT.value}
    with pytest.raises(FileRefused, match=APP):
        read_upload(content=b"%PDF-1.7", name="a.pdf", limits=limits, uploader=samples.UPLOADER)

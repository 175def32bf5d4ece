"""A file is what its content says; its text is read, or one sentence says why not."""

from __future__ import annotations

import pytest

from assistant.services.files.attachments import read_upload
from assistant.services.files.kinds import FileRefused, detect
from assistant.services.files.limits import AttachmentLimits
from assistant.services.files.reading import read_text, readable_kinds
from tests.services.files import samples
from tests.services.knowledge.pdf import make_pdf

NO_WORDS = samples.make_zip({"[Content_Types].xml": "x", "word/document.xml": "x"})

NO_SLIDES = samples.make_zip({"[Content_Types].xml": "x", "ppt/presentation.xml": "x"})
# Entities that grow to a gigabyte.
GROWING = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
LAUGHS = samples.make_zip(
    {
        "[Content_Types].xml": "x",
        "ppt/presentation.xml": f'<!DOCTYPE p [<!ENTITY e0 "laugh">{GROWING}]><p>&e9;</p>',
    }
)


def read(name: str, content: bytes) -> tuple[str, str, str]:
    found = detect(content, name)
    return found.kind.value, found.media_type, read_text(content, found, uploader=samples.UPLOADER).text


@pytest.mark.parametrize(
    ("name", "content", "kind", "text"),
    [
        ("a.png", samples.PNG, "image", ""),
        ("photo", samples.PNG, "image", ""),
        ("photo.jpg", samples.PNG, "image", ""),
        ("a.pdf", samples.PDF, "pdf", "Turn the valve twice."),
        ("a.docx", samples.DOCX, "docx", "Thirty days."),
        ("a.xlsx", samples.XLSX, "xlsx", "# Sales\n\nMonth,Sold\nMay,12"),
        ("a.pptx", samples.PPTX, "pptx", "# Slide 1: Plan\n\nOpen a shop\n\n# Slide 2: Costs\n\nRent: 900 & more"),
        ("a.csv", b"a;b\n1;2\n", "text", "a;b\n1;2"),
        ("a.md", b"# Title\n", "text", "# Title"),
        ("a.py", b"print('hi')\n", "text", "print('hi')"),
        ("a.html", b"<h1>Title</h1><script>bad()</script><p>Body", "text", "# Title\n\nBody"),
        ("page", b"<!doctype html><p>Hello</p>", "text", "Hello"),
        ("a.txt", "Grüße".encode("utf-16"), "text", "Grüße"),
    ],
)
def test_a_file_is_known_by_its_content_and_read(name: str, content: bytes, kind: str, text: str) -> None:
    found, _, told = read(name, content)
    assert found == kind
    assert text in told.strip()
    assert "bad()" not in told


@pytest.mark.parametrize(
    ("name", "content", "code", "sentence"),
    [
        ("a.txt", b"", "file_unreadable", "The file is empty"),
        ("a.txt", b" \n", "file_unreadable", "has no text"),
        ("a.txt", "Grüße".encode("latin-1"), "file_type", "not UTF-8 text"),
        ("a.bin", b"\x7fELF\x02\x01\x01\0", "file_type", "This kind of file cannot be read"),
        ("a.exe", b"MZ\x90\0\x03", "file_type", "This kind of file cannot be read"),
        ("a.zip", samples.make_zip({"a": "b"}), "file_type", "This kind of file cannot be read"),
        ("a.pdf", samples.PNG, "file_type", "named .pdf, but its content is something else"),
        ("a.docx", samples.XLSX, "file_type", "named .docx, but its content is something else"),
        ("a.pptx", samples.DOCX, "file_type", "named .pptx, but its content is something else"),
        ("a.pptx", samples.make_pptx(), "file_unreadable", "has no text"),
        ("a.pptx", NO_SLIDES, "file_unreadable", "broken"),
        ("a.pptx", LAUGHS, "file_unreadable", "broken"),
        ("a.png", b"<svg onload=alert(1)>", "file_type", "named .png, but its content is something else"),
        ("a.doc", samples.OLD_OFFICE, "file_type", "an old Office file"),
        ("a.docx", samples.ENCRYPTED_DOCX, "file_encrypted", "The file is encrypted"),
        ("a.pdf", make_pdf("Secret", password="x"), "file_encrypted", "The file is encrypted"),
        ("a.pdf", make_pdf(""), "file_unreadable", "is a scan"),
        ("a.pdf", samples.PDF[:300], "file_unreadable", "The file is broken"),
        ("a.docx", samples.make_docx(), "file_unreadable", "has no text"),
        ("a.docx", NO_WORDS, "file_unreadable", "broken"),
        ("a.xlsx", samples.XLSX[:-40], "file_type", "named .xlsx"),
        ("a.docx", samples.BOMB, "file_too_large", "unpacks to more than can be read"),
        ("a.html", b"<b>" * 20_000 + b"deep", "file_unreadable", "broken"),
        ("a.xlsx", samples.make_xlsx(*[("x" * 1000,)] * 2100), "file_too_large", "longer than 2,000,000"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_has_a_code_and_a_sentence(
    name: str, content: bytes, code: str, sentence: str
) -> None:
    with pytest.raises(FileRefused, match=sentence) as refused:
        read(name, content)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("name", "content", "stored"),
    [
        ("invoice.exe", b"MZ" + samples.PDF, "invoice.pdf"),
        ("letter.hta", samples.DOCX, "letter.docx"),
        ("page.html", b"<p>Hello</p>", "page.html"),
    ],
)
def test_a_file_has_the_ending_of_its_type(name: str, content: bytes, stored: str) -> None:
    limits = AttachmentLimits(readable_kinds(), per_message=1, file_bytes=0, bytes_together=0)
    assert read_upload(content=content, name=name, limits=limits, uploader=samples.UPLOADER).name == stored


def test_notes_of_a_slide_follow_it_and_what_slides_repeat_is_left_out() -> None:
    _, _, text = read("a.pptx", samples.PPTX)
    assert text.endswith("more\n\nNotes:\nSay it slowly") and "7" not in text


def test_a_sheet_within_a_letter_does_not_make_it_a_sheet() -> None:
    letter = samples.make_docx("See the table.", sheet=samples.XLSX)
    assert read("a.docx", letter)[0] == "docx"

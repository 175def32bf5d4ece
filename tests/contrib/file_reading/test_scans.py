"""Scanned PDFs: read where the extra is installed, and else refused with what a scan is and what reads it."""

from __future__ import annotations

import io
from importlib.util import find_spec

import pytest
from django.core.files.base import ContentFile
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject, NumberObject
from pytest_django import Settings

from assistant.contrib.file_reading import reading
from assistant.models import Tenant
from assistant.models.knowledge import Document
from assistant.services.knowledge.documents import add_document
from assistant.services.knowledge.files import DocumentError
from tests.services.knowledge.letters import picture_of

needs_ocr = pytest.mark.skipif(not find_spec("rapidocr"), reason="needs the extra ocr")


def scan(*pages: str) -> bytes:
    """A PDF with one picture of a line of text on each page."""
    writer = PdfWriter()
    for text in pages:
        width, height, points = picture_of(text)
        picture = DecodedStreamObject()
        picture.set_data(points)
        values = {"Width": width, "Height": height, "BitsPerComponent": 8}
        picture.update({NameObject(f"/{name}"): NumberObject(value) for name, value in values.items()})
        names = {"Type": "XObject", "Subtype": "Image", "ColorSpace": "DeviceGray"}
        picture.update({NameObject(f"/{name}"): NameObject(f"/{value}") for name, value in names.items()})
        page = writer.add_blank_page(width=width, height=height)
        drawn = DictionaryObject({NameObject("/I1"): writer._add_object(picture.flate_encode())})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/XObject"): drawn})
        content = DecodedStreamObject()
        content.set_data(f"{width} 0 0 {height} 0 0 cm /I1 Do".encode())
        page[NameObject("/Contents")] = writer._add_object(content)
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def upload(tenant: Tenant, content: bytes) -> Document:
    return add_document(tenant=tenant, title="Scan", file=ContentFile(content, name="scan.pdf"))


def test_without_the_extra_a_scan_is_called_one_and_the_extra_is_named(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(reading._PACKAGES, reading._OCR, ("a_package_that_is_not_installed",))
    with pytest.raises(DocumentError, match=r"is a scan.*tenant-assistant\[ocr\], which reads scans"):
        upload(acme, scan("PARK"))
    assert not Document.objects.exists()


def test_scans_can_be_left_unread_and_the_sentence_says_that_it_is_switched_off(
    acme: Tenant, settings: Settings
) -> None:
    settings.ASSISTANT_OCR_SECONDS = 0
    assert not reading.reads_scans()
    with pytest.raises(DocumentError, match=r"is a scan.*switched off") as refused:
        upload(acme, scan("PARK"))
    assert "install" not in str(refused.value)


@needs_ocr
def test_the_pages_of_a_scan_are_read(acme: Tenant) -> None:
    document = upload(acme, scan("PARK HERE", "FEE 35"))
    first, second = document.text.split("\f")
    assert ("PARK" in first, "HERE" in first, "35" in second) == (True, True, True)
    assert document.kind == Document.Kind.PDF
    assert list(document.passages.values_list("page", flat=True)) == [1, 2]


@needs_ocr
def test_a_scan_without_words_is_refused(acme: Tenant) -> None:
    with pytest.raises(DocumentError, match="no words were recognised"):
        upload(acme, scan(" "))


@needs_ocr
def test_a_scan_of_too_many_pages_is_refused(acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_SCANNED_PAGES", 1)
    with pytest.raises(DocumentError, match="scan of more than 1 pages"):
        upload(acme, scan("PARK", "HERE"))


@needs_ocr
def test_a_scan_that_takes_too_long_or_too_much_memory_is_refused(acme: Tenant, settings: Settings) -> None:
    settings.ASSISTANT_OCR_SECONDS = 0.2
    with pytest.raises(DocumentError, match="takes too long"):
        upload(acme, scan("PARK"))
    settings.ASSISTANT_OCR_SECONDS = 120
    settings.ASSISTANT_OCR_MEMORY_MB = 200
    with pytest.raises(DocumentError):
        upload(acme, scan("FEE"))
    assert not Document.objects.exists()

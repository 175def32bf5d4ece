"""PDFs and sheets as documents: found with their pages, divided as tables, or refused with a reason."""

from __future__ import annotations

import pytest
from django.core.files.base import ContentFile

from assistant.library.knowledge import search_docs
from assistant.models import Tenant
from assistant.models.knowledge import Document
from assistant.services.knowledge.documents import add_document
from assistant.services.knowledge.files import DocumentError
from assistant.services.knowledge.passages import MAX_PASSAGE_CHARACTERS
from assistant.toolkit import ToolContext
from tests.library.calling import call
from tests.services.files.samples import make_xlsx
from tests.services.knowledge.pdf import make_pdf


def upload(tenant: Tenant, name: str, content: bytes) -> Document:
    return add_document(tenant=tenant, title="Upload", file=ContentFile(content, name=name))


def test_a_pdf_is_found_with_its_page(acme: Tenant, at_acme: ToolContext) -> None:
    document = upload(acme, "../manual.pdf", make_pdf("Contents", "Turn the valve twice.", ""))
    assert (document.kind, document.filename) == ("pdf", "manual.pdf")
    (result,) = call(search_docs, at_acme, queries=["how to turn the valve"])["results"]
    assert (result["source"], result["page"], result["text"]) == ("Upload", 2, "Turn the valve twice.")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (make_pdf("Secret", password="x"), "The file is encrypted"),
        (make_pdf(""), "The file is a scan"),
        (b"%PDF-1.7\nbroken", "The file is broken"),
        (make_pdf("Page")[:300], "The file is broken"),
    ],
)
def test_a_pdf_that_cannot_be_read_is_refused_with_the_reason(acme: Tenant, content: bytes, problem: str) -> None:
    with pytest.raises(DocumentError, match=problem):
        upload(acme, "a.pdf", content)
    assert not Document.objects.exists()


def test_a_sheet_is_a_table_of_which_each_passage_has_the_head(acme: Tenant) -> None:
    rows = [(f"Article {number}", float(number)) for number in range(60)]
    sheet = make_xlsx(("Name | kind", "Price"), *rows)
    document = add_document(tenant=acme, title="Prices", file=ContentFile(sheet, name="prices.xlsx"))
    assert document.text.startswith("# Sales\n\n| Name \\| kind | Price |\n| --- | --- |\n| Article 0 | 0 |")
    passages = list(document.passages.order_by("position").values_list("text", flat=True))
    assert len(passages) > 1
    assert all(text.startswith("| Name \\| kind | Price |\n| --- | --- |\n| Article") for text in passages)
    assert all(len(text) <= MAX_PASSAGE_CHARACTERS for text in passages)
    told = [line for text in passages for line in text.split("\n")[2:]]
    assert told == [f"| Article {number} | {number} |" for number in range(60)]

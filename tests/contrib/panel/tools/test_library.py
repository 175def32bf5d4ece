"""Documents are added as text, Markdown or PDF and found at once; other rows stay within their tenant."""

from __future__ import annotations

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from assistant.models import AuditEntry
from assistant.models.knowledge import Document
from assistant.services.knowledge.documents import add_document
from assistant.services.knowledge.full_text import search
from assistant.services.knowledge.reach import whole_reach
from tests.base import Cast
from tools.models import Customer, Order

DOCUMENTS = "/admin/assistant/document/"


def add(client: Client, cast: Cast, **fields: object) -> int:
    form = {"tenant": cast.acme.pk, "title": "Refunds", "kind": "markdown", "text": "", **fields}
    return client.post(f"{DOCUMENTS}add/", form).status_code


def found(cast: Cast, query: str) -> list[str]:
    return [hit.passage.title for hit in search(reach=whole_reach(cast.acme.pk), queries=[query], limit=5)]


def test_a_document_typed_in_the_admin_is_found(amys: Client, cast: Cast) -> None:
    assert add(amys, cast, text="Refunds take five working days.") == 302
    assert found(cast, "refund days") == ["Refunds"]


def test_a_document_is_read_from_a_file(amys: Client, cast: Cast) -> None:
    file = SimpleUploadedFile("hours.md", b"# Hours\n\nWe open at nine.")
    assert add(amys, cast, title="Hours", file=file) == 302
    row = Document.objects.get()
    assert (row.kind, row.filename, found(cast, "open at nine")) == ("markdown", "hours.md", ["Hours"])


def test_a_changed_document_is_found_by_its_new_words(amys: Client, cast: Cast) -> None:
    add(amys, cast, text="Refunds take five working days.")
    row = Document.objects.get()
    amys.post(
        f"{DOCUMENTS}{row.pk}/change/",
        {"tenant": cast.acme.pk, "title": "Refunds", "kind": "text", "text": "Kangaroos are exempt."},
    )
    assert (found(cast, "kangaroo"), found(cast, "working days")) == (["Refunds"], [])


def test_an_unreadable_file_is_a_form_error(amys: Client, cast: Cast) -> None:
    broken = SimpleUploadedFile("broken.pdf", b"%PDF-1.7 and then nothing")
    program = SimpleUploadedFile("tool.exe", b"MZ\x90\x00\x03\x00")
    for wrong in ({"file": broken}, {"file": program}, {"text": "   "}, {"text": "Words.", "title": "\t"}):
        assert add(amys, cast, **wrong) == 200
    assert not Document.objects.exists()


def test_a_taken_title_is_a_form_error(amys: Client, cast: Cast) -> None:
    assert add(amys, cast, text="One.") == 302
    assert add(amys, cast, text="Two.", title="  Refunds ") == 200


def test_an_orders_customer_belongs_to_the_same_tenant(root: Client, cast: Cast) -> None:
    rival = Customer.objects.create(tenant=cast.globex, number=42, name="Rival", email="r@example.com")
    form = {"tenant": cast.acme.pk, "number": 1, "customer": rival.pk, "status": "open", "total": 1, "currency": "EUR"}
    now = timezone.now()
    form |= {"placed_at_0": now.date(), "placed_at_1": "10:00", "lines-TOTAL_FORMS": 0, "lines-INITIAL_FORMS": 0}
    assert root.post("/admin/tools/order/add/", form).status_code == 200
    assert not Order.objects.exists()


def test_an_orders_lines_belong_to_its_tenant(amys: Client, cast: Cast) -> None:
    customer = Customer.objects.create(tenant=cast.acme, number=42, name="Ada", email="a@example.com")
    form = {"tenant": cast.acme.pk, "number": 1, "customer": customer.pk, "status": "open", "total": 8}
    form |= {"currency": "EUR", "placed_at_0": "2026-01-02", "placed_at_1": "10:00"}
    form |= {"lines-TOTAL_FORMS": 1, "lines-INITIAL_FORMS": 0}
    form |= {"lines-0-product": "Rope", "lines-0-quantity": 2, "lines-0-unit_price": 4}
    assert amys.post("/admin/tools/order/add/", form).status_code == 302
    assert Order.objects.get().lines.get().tenant == cast.acme


def test_the_documents_that_a_tenant_trusts_are_chosen_in_the_list(amys: Client, cast: Cast) -> None:
    ours, theirs = (add_document(tenant=one, title="Refunds", text="30 days") for one in (cast.acme, cast.globex))
    chosen = {"action": "trust", "_selected_action": [ours.pk, theirs.pk]}
    assert amys.post(DOCUMENTS, chosen).status_code == 302
    assert list(Document.objects.filter(is_trusted=True)) == [ours] != [theirs]
    entry = AuditEntry.objects.get(action="document.trust")
    assert (entry.tenant, entry.actor, entry.target) == (cast.acme, cast.amy, "Refunds")
    amys.post(DOCUMENTS, chosen | {"action": "distrust"})
    assert not Document.objects.filter(is_trusted=True).exists()


def test_a_member_who_is_no_admin_cannot_trust_documents(cast: Cast) -> None:
    document = add_document(tenant=cast.acme, title="Refunds", text="30 days")
    client = Client()
    client.force_login(cast.alice)
    client.post(DOCUMENTS, {"action": "trust", "_selected_action": [document.pk]})
    assert not Document.objects.get().is_trusted

"""The page that uploads many documents: each file has a line, and none reaches another tenant."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from assistant.asgi.body_sizes import size_bound
from assistant.contrib.collections.models import CollectedDocument, Collection
from assistant.models import AuditEntry, Document
from assistant.services.knowledge.documents import add_document
from tests.base import Cast
from tests.services.files import samples

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/admin/assistant/document/upload/"


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def file(name: str, text: bytes = b"Text.") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text)


def send(user: Any, tenant: Any, *files: SimpleUploadedFile, **fields: str) -> Any:
    headers = {"Accept": "application/json"}
    return signed_in(user).post(PAGE, {"tenant": tenant.pk, "uploads": list(files), **fields}, headers=headers)


def test_each_file_of_a_form_has_a_line(cast: Cast) -> None:
    files = [file("hours.md", b"# Opening hours\n\nNine."), file("a.bin", b"\x00\x01"), file("b.docx", samples.DOCX)]
    page = signed_in(cast.amy).post(PAGE, {"tenant": cast.acme.pk, "uploads": files})
    lines = page.context["lines"]
    assert [(one.outcome, one.name) for one in lines] == [
        ("added", "hours.md"),
        ("refused", "a.bin"),
        ("added", "b.docx"),
    ]
    assert lines[1].about in page.content.decode()
    assert set(Document.objects.values_list("title", flat=True)) == {"Opening hours", "b"}
    assert AuditEntry.objects.filter(action="document.add", actor=cast.amy, tenant=cast.acme).count() == 2


def test_files_of_one_upload_replace_none_of_each_other(cast: Cast) -> None:
    (first,) = send(cast.amy, cast.acme, file("README.md", b"# Read me\n\nFirst.")).json()["lines"]
    again = file("README.md", b"# Read me\n\nSecond.")
    (second,) = send(cast.amy, cast.acme, again, stored=str(first["document"])).json()["lines"]
    assert second["outcome"] == "refused" and "First" in Document.objects.get().text
    again = file("README.md", b"# Read me\n\nSecond.")
    (later,) = send(cast.amy, cast.acme, again).json()["lines"]
    assert (later["outcome"], later["document"]) == ("replaced", first["document"])


def test_they_go_into_a_collection_in_the_same_transaction(cast: Cast) -> None:
    Collection.objects.create(tenant=cast.acme, name="Contracts", roles=["owner"])
    Collection.objects.create(tenant=cast.globex, name="Theirs")
    send(cast.amy, cast.acme, file("a.txt"), collection="Contracts")
    assert CollectedDocument.objects.get().collection.name == "Contracts"
    refused = send(cast.amy, cast.acme, file("b.txt"), collection="Theirs").json()["lines"][0]
    assert refused["outcome"] == "refused" and Document.objects.count() == 1
    page = signed_in(cast.amy).get(PAGE).content.decode()
    assert '<option value="Contracts">' in page and "Theirs" not in page


def test_nobody_uploads_for_another_tenant(cast: Cast) -> None:
    theirs = add_document(tenant=cast.globex, title="a", text="Theirs.")
    assert send(cast.amy, cast.globex, file("a.txt")).status_code == 400
    assert send(cast.alice, cast.acme, file("a.txt")).status_code in (302, 403)
    assert Client().post(PAGE, {"tenant": cast.acme.pk, "uploads": [file("a.txt")]}).status_code == 302
    assert send(cast.amy, cast.acme, file("a.txt", b"Ours.")).json()["lines"][0]["outcome"] == "added"
    assert Document.objects.get(pk=theirs.pk).text == "Theirs."
    assert signed_in(cast.greta).get(PAGE).context["form"].fields["tenant"].queryset.get() == cast.globex


@pytest.mark.parametrize("stored", ["x", "1,,x", "9" * 30, ",".join(map(str, range(10_001)))])
def test_what_names_no_documents_is_refused(stored: str, cast: Cast) -> None:
    assert send(cast.amy, cast.acme, file("a.txt"), stored=stored).status_code == 400
    assert not Document.objects.exists()


def test_a_form_without_files_and_with_too_many_is_refused(cast: Cast) -> None:
    assert send(cast.amy, cast.acme).status_code == 400
    assert send(cast.amy, cast.acme, *(file(f"{number}.txt") for number in range(21))).status_code == 400
    assert not Document.objects.exists()


def test_a_request_without_its_token_is_refused(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.amy)
    assert client.post(PAGE, {"tenant": cast.acme.pk, "uploads": [file("a.txt")]}).status_code == 403


def test_files_may_come_to_the_page(settings: Any) -> None:
    assert size_bound({"type": "http", "path": PAGE}) == settings.ASSISTANT_MAX_UPLOAD_BYTES

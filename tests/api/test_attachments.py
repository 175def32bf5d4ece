"""Files for messages: uploaded, described, served and deleted, and never another tenant's or another person's."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from assistant.contrib.end_users.services.tokens import allow_origin, mint_token, save_end_user
from assistant.models import Attachment, Provider, TenantLimits
from assistant.services.files.attachments import delete_forgotten, limits_of
from assistant.services.tenancy.members import Member
from tests.api.calling import Caller, key_of
from tests.base import Cast
from tests.factories import make_conversation
from tests.services.files import samples
from tests.services.knowledge.pdf import make_pdf

pytestmark = pytest.mark.django_db(transaction=True)
ACME = "/api/v1/tenants/acme/attachments/"
SHOP = "https://shop.example"


def upload(key: str, name: str = "a.pdf", content: bytes = samples.PDF, path: str = ACME, **headers: str) -> Any:
    file = SimpleUploadedFile(name, content)
    sent = {"Authorization": f"Bearer {key}", **headers} if key else headers
    return Client(raise_request_exception=False).post(path, {"file": file}, headers=sent)


def read(key: str, url: str, method: str = "get") -> HttpResponse:
    answer: HttpResponse = getattr(Client(), method)(url, headers={"Authorization": f"Bearer {key}"})
    return answer


def stored_files(settings: Settings) -> int:
    return sum(one.is_file() for one in Path(settings.ASSISTANT_ATTACHMENTS_DIR).rglob("*"))


@pytest.fixture(autouse=True)
def _folder(settings: Settings) -> None:
    shutil.rmtree(settings.ASSISTANT_ATTACHMENTS_DIR, ignore_errors=True)


def test_a_file_is_uploaded_described_and_deleted(alice_calls: Caller, settings: Settings) -> None:
    made = upload(alice_calls.key, "../../Valve manual.pdf")
    assert made.status_code == 201
    told = made.json()
    assert (told["name"], told["kind"], told["mediaType"]) == ("Valve manual.pdf", "pdf", "application/pdf")
    assert Attachment.objects.get().text == "Contents\fTurn the valve twice."
    assert read(alice_calls.key, f"{ACME}{told['id']}/").json() == told
    served = read(alice_calls.key, told["url"])
    assert served.content == samples.PDF
    assert served["Content-Disposition"].startswith('attachment; filename="Valve manual.pdf"')
    assert {"Authorization", "Cookie", "Origin"} <= set(served["Vary"].split(", "))
    assert (served["X-Content-Type-Options"], served["Content-Security-Policy"]) == (
        "nosniff",
        "default-src 'none'; sandbox",
    )
    assert stored_files(settings) == 1
    assert read(alice_calls.key, f"{ACME}{told['id']}/", "delete").status_code == 204
    assert read(alice_calls.key, told["url"]).status_code == 404
    assert stored_files(settings) == 0


def test_a_file_that_its_storage_does_not_give_is_not_found(
    alice_calls: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = upload(alice_calls.key).json()

    def fail(*args: Any, **kwargs: Any) -> None:
        raise LookupError("as a storage's own")

    monkeypatch.setattr(FileSystemStorage, "open", fail)
    assert read(alice_calls.key, told["url"]).status_code == 404


def test_an_image_is_shown_and_a_page_is_not(alice_calls: Caller) -> None:
    image = upload(alice_calls.key, "a.png", samples.PNG).json()
    page = upload(alice_calls.key, "a.html", b"<script>alert(1)</script><p>Hi").json()
    assert read(alice_calls.key, image["url"])["Content-Disposition"].startswith("inline")
    served = read(alice_calls.key, page["url"])
    assert served["Content-Disposition"].startswith("attachment")
    assert served["Content-Type"] == "text/plain; charset=utf-8"


def test_nobody_else_reads_or_deletes_a_file(cast: Cast, alice_calls: Caller) -> None:
    told = upload(alice_calls.key).json()
    for stranger in (key_of(cast.acme, cast.amy), key_of(cast.globex, cast.mallory)):
        for url in (told["url"], f"{ACME}{told['id']}/", told["url"].replace("/acme/", "/globex/")):
            assert read(stranger, url).status_code == 404
        assert read(stranger, f"{ACME}{told['id']}/", "delete").status_code == 404
    assert read("", told["url"]).status_code == 401
    assert Attachment.objects.count() == 1


def test_a_sent_file_belongs_to_its_conversation(cast: Cast, alice_calls: Caller, settings: Settings) -> None:
    told = upload(alice_calls.key).json()
    talk = make_conversation(cast.alice, cast.support)
    Attachment.objects.update(conversation=talk, user=cast.amy)
    assert read(alice_calls.key, told["url"]).status_code == 200
    assert read(key_of(cast.acme, cast.amy), told["url"]).status_code == 404
    assert read(alice_calls.key, f"{ACME}{told['id']}/", "delete").status_code == 404
    talk.delete()
    assert not Attachment.objects.exists()
    assert stored_files(settings) == 0


def test_scopes_and_sessions(cast: Cast) -> None:
    assert upload(key_of(cast.acme, cast.alice, scopes=["read"])).status_code == 403
    told = upload(key_of(cast.acme, cast.alice, scopes=["chat"])).json()
    assert read(key_of(cast.acme, cast.alice, scopes=["chat"]), told["url"]).status_code == 403
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(cast.alice)
    browser.get("/t/acme/")
    token = browser.cookies["csrftoken"].value
    file = {"file": SimpleUploadedFile("a.png", samples.PNG)}
    assert browser.post(ACME, file).status_code == 403
    file = {"file": SimpleUploadedFile("a.png", samples.PNG), "csrfmiddlewaretoken": token}
    assert browser.post(ACME, file).status_code == 403
    file = {"file": SimpleUploadedFile("a.png", samples.PNG)}
    assert browser.post(ACME, file, headers={"X-CSRFToken": token}).status_code == 201


def test_an_end_user_uploads_from_an_allowed_page(cast: Cast) -> None:
    from assistant.models import ApiKey

    allow_origin(assistant=cast.support, origin=SHOP)
    key_of(cast.acme, cast.alice, scopes=["end_users"])
    dora = save_end_user(tenant_id=cast.acme.pk, external_id="dora", name="Dora", context={})
    token, _ = mint_token(end_user=dora, assistant=cast.support, key_id=ApiKey.objects.get().pk, seconds=600)
    asked = Client().options(ACME, headers={"Origin": SHOP, "Access-Control-Request-Method": "POST"})
    assert (asked.status_code, asked["Access-Control-Allow-Methods"]) == (204, "POST")
    made = upload(token, Origin=SHOP)
    assert (made.status_code, made["Access-Control-Allow-Origin"]) == (201, SHOP)
    assert upload(token, Origin="https://evil.example").status_code == 401
    assert upload(token, path=ACME.replace("acme", "globex"), Origin=SHOP).status_code in (401, 404)


@pytest.mark.parametrize(
    ("name", "content", "status", "code"),
    [
        ("a.bin", b"\x7fELF\0", 415, "file_type"),
        ("a.pdf", samples.PNG, 415, "file_type"),
        ("a.docx", samples.ENCRYPTED_DOCX, 400, "file_encrypted"),
        ("a.pdf", samples.PDF[:300], 400, "file_unreadable"),
        ("a.txt", b"x" * (1024 * 1024 + 1), 413, "file_too_large"),
    ],
)
def test_a_file_that_cannot_be_taken_is_refused_and_not_stored(
    cast: Cast, alice_calls: Caller, settings: Settings, name: str, content: bytes, status: int, code: str
) -> None:
    TenantLimits.objects.create(tenant=cast.acme, attachment_mb=1)
    refused = upload(alice_calls.key, name, content)
    assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert refused.json()["message"]
    assert not Attachment.objects.exists()
    assert stored_files(settings) == 0


def test_a_refusal_is_in_the_language_that_was_asked_for(alice_calls: Caller) -> None:
    refused = upload(alice_calls.key, "a.txt", b"", **{"Accept-Language": "de"})
    assert refused.json()["message"] == "Die Datei ist leer."


def test_the_limits_of_a_tenant(cast: Cast, alice_calls: Caller) -> None:
    limits = TenantLimits.objects.create(tenant=cast.acme, attachments_mb=1, attachment_kinds="text")
    assert upload(alice_calls.key).json()["code"] == "file_type"
    big = b"x" * (700 * 1024)
    assert upload(alice_calls.key, "a.txt", big).status_code == 201
    full = upload(alice_calls.key, "a.txt", big)
    assert (full.status_code, full.json()["code"]) == (409, "file_quota")
    limits.attachment_kinds = "none"
    limits.save()
    off = upload(alice_calls.key, "a.txt", b"x")
    assert (off.status_code, off.json()["code"]) == (403, "attachments_off")
    mallory = key_of(cast.globex, cast.mallory)
    assert upload(mallory, path=ACME.replace("acme", "globex")).status_code == 201


def test_the_unsent_files_of_one_person_are_bounded_together(cast: Cast, alice_calls: Caller) -> None:
    TenantLimits.objects.create(tenant=cast.acme, attachments_per_message=5)
    size = 100 * 1024 * 1024 - 10
    Attachment.objects.create(tenant=cast.acme, user=cast.alice, kind="text", name="a.txt", size=size)
    full = upload(alice_calls.key, "a.txt", b"Eleven bytes")
    assert (full.status_code, full.json()["code"]) == (409, "file_quota")
    assert upload(alice_calls.key, "a.txt", b"Short").status_code == 201
    assert upload(key_of(cast.acme, cast.amy), "a.txt", b"Eleven bytes").status_code == 201


def test_the_files_that_one_message_may_have_can_all_be_uploaded(
    cast: Cast, alice_member: Member, alice_calls: Caller
) -> None:
    limits = limits_of(alice_member)
    size = (limits.per_message - 1) * limits.file_bytes
    assert size > 100 * 1024 * 1024
    Attachment.objects.create(tenant=cast.acme, user=cast.alice, kind="text", name="a.txt", size=size)
    assert upload(alice_calls.key, "a.txt", b"Eleven bytes").status_code == 201


def test_a_file_that_is_never_sent_is_deleted_after_a_day(alice_calls: Caller, cast: Cast, settings: Settings) -> None:
    for _ in range(3):
        upload(alice_calls.key)
    old, sent, _ = Attachment.objects.all()
    aged = timezone.now() - timedelta(hours=24, seconds=1)
    Attachment.objects.filter(pk__in=[old.pk, sent.pk]).update(created_at=aged)
    Attachment.objects.filter(pk=sent.pk).update(conversation=make_conversation(cast.alice, cast.support))
    assert delete_forgotten() == 1
    assert not Attachment.objects.filter(pk=old.pk).exists()
    assert stored_files(settings) == 2


def test_a_scan_is_taken_where_a_model_of_the_tenant_reads_pdfs(cast: Cast, alice_calls: Caller) -> None:
    scan, mallory = make_pdf("", ""), key_of(cast.globex, cast.mallory)
    Provider.objects.create(tenant=cast.globex, name="G", default_model="m", reads_pdfs=True)
    refused = upload(alice_calls.key, content=scan)
    assert (refused.status_code, refused.json()["code"]) == (400, "file_unreadable")
    assert "Run text recognition" in refused.json()["message"]
    made = upload(mallory, content=scan, path=ACME.replace("acme", "globex"))
    assert made.status_code == 201 and made.json()["isScan"] is True
    assert (Attachment.objects.get().text, Attachment.objects.get().text_format) == ("\f", "")
    assert upload(alice_calls.key).json()["isScan"] is False
    shared = Provider.objects.create(name="Shared", default_model="m", reads_pdfs=True)
    assert upload(alice_calls.key, content=scan).status_code == 400
    cast.support.provider = shared
    cast.support.save()
    assert upload(alice_calls.key, content=scan).status_code == 201


@pytest.mark.parametrize(("name", "value"), [("MAX_PDF_BYTES", 100), ("MAX_PDF_PAGES", 1)])
def test_a_scan_that_is_too_large_for_models_is_refused(
    cast: Cast, alice_calls: Caller, monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> None:
    Provider.objects.create(tenant=cast.acme, name="A", default_model="m", reads_pdfs=True)
    monkeypatch.setattr(f"assistant.services.files.attachments.{name}", value)
    refused = upload(alice_calls.key, content=make_pdf("", ""))
    assert (refused.status_code, refused.json()["code"]) == (413, "file_too_large")
    assert "only pictures of it, of which a model can read" in refused.json()["message"]
    assert upload(alice_calls.key).status_code == 201

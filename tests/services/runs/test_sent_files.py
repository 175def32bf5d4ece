"""What attached files may cost a run that is opened, and that a storage that fails stops none."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage
from django.db import connection
from django.test.utils import CaptureQueriesContext

from assistant.models import Attachment, Provider, Run, TenantLimits
from assistant.services.errors import Refused
from assistant.services.files.attachments import delete_unsent
from assistant.services.knowledge.citations import GivenDocument
from assistant.services.knowledge.passages import Piece
from assistant.services.runs.extensions.cited_passages import CitedPassages
from assistant.services.runs.opening import sent_files
from assistant.services.runs.opening.open_run import open_run
from assistant.services.runs.opening.run_setup import OpenedRun, RunSetup
from assistant.services.tenancy.members import Member
from tests.base import Cast
from tests.services.files import samples
from tests.services.runs.test_opening import given

LONG = "Filler words. " * 10_000


def stored(cast: Cast, text: str = "", **fields: Any) -> Attachment:
    fields = {"kind": "text", "media_type": "text/plain", "text_format": "text", "name": "a.txt", "size": 1, **fields}
    row = Attachment(tenant=cast.acme, user=cast.alice, text=text, **fields)
    row.file.save(row.name, ContentFile(samples.PNG), save=True)
    return row


def with_provider(setup: RunSetup, **fields: Any) -> RunSetup:
    answering = replace(setup.answering, provider=replace(setup.provider, **fields))
    return replace(setup, answering=answering)


def send(member: Member, files: Sequence[Attachment]) -> OpenedRun:
    asked = given(uuid.uuid4())
    assert asked.message is not None
    asked = replace(asked, message=replace(asked.message, files=tuple(file.pk for file in files)))
    return open_run(member=member, assistant_slug="support", given=asked, owner="here")


def documents_of(setup: RunSetup) -> list[GivenDocument]:
    return [document for one in setup.extensions if isinstance(one, CitedPassages) for document in one.documents]


def content(opened: OpenedRun) -> str:
    assert opened.setup is not None
    return opened.setup.history[-1].content


def test_many_long_files_are_searched_up_to_a_bound(
    cast: Cast, alice_member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[int] = []

    def search(text: str, **how: Any) -> list[Piece]:
        searched.append(len(text))
        return [Piece("Passage")]

    monkeypatch.setattr(sent_files, "best_pieces", search)
    monkeypatch.setattr(sent_files, "MAX_SEARCHED", len(LONG) * 2 + 7)
    told = content(send(alice_member, [stored(cast, LONG) for _ in range(4)]))
    assert searched == [len(LONG), len(LONG), 7]
    assert told.count("that is not shown here") == 1


def test_no_file_is_searched_where_no_room_is_left(
    cast: Cast, alice_member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sent_files, "MAX_CHARACTERS", 1_000)
    files = [stored(cast, "x" * 1_000), stored(cast, LONG)]
    monkeypatch.delattr(sent_files, "best_pieces")
    assert content(send(alice_member, files)).count("that is not shown here") == 1


def test_an_image_that_its_storage_does_not_give_is_not_shown(
    cast: Cast, alice_member: Member, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    Provider.objects.update(sees_images=True)

    def fail(*args: Any, **kwargs: Any) -> None:
        raise LookupError("as a storage's own")

    image = stored(cast, kind="image", media_type="image/png", text_format="", name="a.png")
    monkeypatch.setattr(FileSystemStorage, "open", fail)
    assert "an attached image that is not shown here" in content(send(alice_member, [image]))


def test_a_run_whose_files_cannot_be_read_is_given_up(
    cast: Cast, alice_member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(sent_files, "best_pieces")
    with pytest.raises(NameError):
        send(alice_member, [stored(cast, LONG)])
    assert Run.objects.get().lease_owner == ""


def test_files_are_locked_while_they_are_sent_or_deleted(cast: Cast, alice_member: Member) -> None:
    file = stored(cast, "Text")
    with CaptureQueriesContext(connection) as sending:
        send(alice_member, [file])
    assert not delete_unsent(member=alice_member, attachment_ids=[file.pk])
    file = stored(cast, "Text")
    with CaptureQueriesContext(connection) as deleting:
        assert delete_unsent(member=alice_member, attachment_ids=[file.pk]) == 1
    for queries in (sending, deleting):
        locked = [one["sql"] for one in queries if "assistant_attachment" in one["sql"] and "FOR UPDATE" in one["sql"]]
        assert bool(locked) == connection.features.has_select_for_update


def test_files_are_counted_in_what_is_reserved_of_quotas(
    cast: Cast, alice_member: Member, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sent_files, "MAX_CHARACTERS", 1_000)
    Provider.objects.update(sees_images=True)
    TenantLimits.objects.create(tenant=cast.acme, tenant_tokens_per_day=1_000_000)
    image = {"kind": "image", "media_type": "image/png", "text_format": "", "name": "a.png"}
    reserved = []
    for files in ([], [stored(cast, "Text", size=400)], [stored(cast, LONG, size=9_000)], [stored(cast, **image)]):
        opened = send(alice_member, files)
        reserved.append(Run.objects.get(pk=opened.key.pk).reserved_tokens)
    assert [one - reserved[0] for one in reserved[1:]] == [100, 250, 1_000]


PDF: dict[str, Any] = {"kind": "pdf", "media_type": "application/pdf", "text_format": "pdf", "name": "plan.pdf"}


def test_a_pdf_is_a_file_with_its_text_for_models_that_read_pdfs(
    cast: Cast, alice_member: Member, provider: Provider
) -> None:
    Provider.objects.update(reads_pdfs=True)
    opened = send(alice_member, [stored(cast, "One\fTwo", **PDF), stored(cast, "Notes")])
    assert opened.setup is not None and opened.setup.provider.reads_pdfs
    (pdf,) = opened.setup.history[-1].media
    assert (pdf.media_type, pdf.name, pdf.data) == ("application/pdf", "plan.pdf", samples.PNG)
    assert "[page 2]\nTwo" in pdf.description and "Two" not in content(opened) and "Notes" in content(opened)
    assert [document.name for document in documents_of(opened.setup)] == ["plan.pdf", "a.txt"]


def test_a_pdf_is_text_for_other_models_and_if_it_is_large(
    cast: Cast, alice_member: Member, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Two" in content(send(alice_member, [stored(cast, "One\fTwo", **PDF)]))
    Provider.objects.update(reads_pdfs=True)
    assert "Big" in content(send(alice_member, [stored(cast, "Big", **PDF | {"size": 6 * 2**20})]))
    monkeypatch.setattr(sent_files, "MAX_PDF_PAGES", 1)
    assert "Two" in content(send(alice_member, [stored(cast, "One\fTwo", **PDF)]))


def test_at_most_so_many_pdfs_are_files(cast: Cast, alice_member: Member, provider: Provider) -> None:
    Provider.objects.update(reads_pdfs=True)
    opened = send(alice_member, [stored(cast, f"Text {n}", **PDF) for n in range(5)])
    assert opened.setup is not None and len(opened.setup.history[-1].media) == 4
    assert "Text 4" in content(opened)


SCAN = PDF | {"text_format": "", "name": "scan.pdf"}


def test_a_scan_is_sent_to_models_that_read_pdfs_and_later_ones_are_told_of_it(
    cast: Cast, alice_member: Member, provider: Provider
) -> None:
    Provider.objects.update(reads_pdfs=True)
    scan = stored(cast, "\f", **SCAN)
    opened = send(alice_member, [scan])
    assert opened.setup is not None
    (pdf,) = opened.setup.history[-1].media
    assert (pdf.name, pdf.data) == ("scan.pdf", samples.PNG) and "scan.pdf" not in content(opened)
    # What a model that reads none is told, such as the fallback.
    assert "only pictures of pages" in pdf.description and not documents_of(opened.setup)
    later = with_provider(opened.setup, reads_pdfs=False)
    (message,) = [one for one in sent_files.with_contents(opened.key, later).history if one.attachments]
    assert not message.media and "Name: scan.pdf\nIt holds only pictures of pages" in message.content


def test_a_new_scan_is_refused_where_the_model_reads_no_pdfs(
    cast: Cast, alice_member: Member, provider: Provider
) -> None:
    scan = stored(cast, "", **SCAN)
    with pytest.raises(Refused, match="cannot read “scan\\.pdf”, which holds no text") as refused:
        send(alice_member, [stored(cast, "One", **PDF), scan])
    assert refused.value.code == "attachment_refused"
    scan.refresh_from_db()
    assert scan.conversation_id is None

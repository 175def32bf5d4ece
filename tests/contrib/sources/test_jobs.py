"""When sources are read: those whose time has come, some at once, and what gaps are told."""

from __future__ import annotations

import asyncio
import io
import zipfile
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from assistant.contrib.data_exports.exports import export_tenant
from assistant.contrib.gaps.models import DocumentDoubt
from assistant.contrib.gaps.services.changes import CHECK_JOB
from assistant.contrib.gaps.services.checking import check_documents
from assistant.contrib.sources.models import Source
from assistant.contrib.sources.services import jobs as source_jobs
from assistant.contrib.sources.services.changes import REFRESH_JOB, order_refresh
from assistant.contrib.sources.services.jobs import plan_refreshes
from assistant.models import AuditEntry, Job
from assistant.services.jobs import jobs
from tests.base import Cast
from tests.contrib.sources.conftest import Website, read

pytestmark = pytest.mark.django_db(transaction=True)


def keys() -> list[str]:
    return sorted(Job.objects.filter(name=REFRESH_JOB, state="waiting").values_list("key", flat=True))


def test_sources_are_read_when_their_time_has_come(cast: Cast) -> None:
    now = timezone.now()
    new, later, off, theirs = (
        Source.objects.create(tenant=tenant, place=f"https://{name}.example/", next_at=at, is_on=is_on)
        for name, tenant, at, is_on in (
            ("new", cast.acme, None, True),
            ("later", cast.acme, now + timedelta(hours=1), True),
            ("off", cast.acme, None, False),
            ("theirs", cast.globex, now - timedelta(hours=1), True),
        )
    )
    plan_refreshes()
    assert keys() == sorted([str(new.pk), str(theirs.pk)])
    assert plan_refreshes() == 0
    assert off.pk and later.pk


def test_few_of_a_tenant_are_read_at_once(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        Source.objects.create(tenant=cast.acme, place=f"https://{number}.example/")
    Source.objects.create(tenant=cast.globex, place="https://theirs.example/")
    assert plan_refreshes() == 3
    monkeypatch.setattr(source_jobs, "MAX_AT_ONCE", 3)
    assert plan_refreshes() == 0


def test_the_job_reads_the_source_and_ends(website: Website, source: Source, cast: Cast) -> None:
    website.page("/docs/", "Handbook", "Welcome.")
    plan_refreshes()
    begun: list[Any] = []
    jobs.look_for_jobs(start=begun.append)
    for work in begun:
        asyncio.run(work())
    source.refresh_from_db()
    assert source.report["counts"] == {"added": 1} and not keys()
    assert plan_refreshes() == 0


def test_a_source_is_read_by_hand_and_not_again_at_once(cast: Cast) -> None:
    source = Source.objects.create(tenant=cast.acme, place="https://acme.example/")
    order = partial(order_refresh, source=source, actor=cast.amy)
    assert order() is None and keys() == [str(source.pk)]
    assert AuditEntry.objects.get(action="source.order").actor == cast.amy
    source.began_at = timezone.now()
    assert order() is not None


def test_gaps_show_what_is_older_than_its_source(website: Website, source: Source, cast: Cast) -> None:
    website.page("/docs/", "Handbook", "Welcome.", "pets")
    website.page("/docs/pets", "Pets", "Dogs are welcome.")
    read(source)
    website.pages["/docs/pets"] = (200, {"Content-Type": "application/zip"}, b"PK")
    Job.objects.filter(name=CHECK_JOB).delete()
    read(source)
    assert Job.objects.filter(name=CHECK_JOB, tenant=cast.acme).exists()
    check_documents(tenant_id=cast.acme.pk)
    doubt = DocumentDoubt.objects.get(kind="older")
    assert (doubt.tenant, doubt.document.title, doubt.detail) == (cast.acme, "Pets", f"{website.url}/docs/pets")


def test_a_tenants_export_has_its_sources_alone(cast: Cast) -> None:
    Source.objects.create(tenant=cast.acme, place="https://ours.example/")
    Source.objects.create(tenant=cast.globex, place="https://theirs.example/")
    file = io.BytesIO()
    export_tenant(tenant=cast.acme, actor=None, to=file)
    with zipfile.ZipFile(file) as archive:
        exported = "".join(archive.read(name).decode(errors="replace") for name in archive.namelist())
    assert "ours.example" in exported and "theirs.example" not in exported

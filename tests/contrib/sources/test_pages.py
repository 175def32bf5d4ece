"""The page of folders and websites: a tenant's admins manage its websites, operators its folders too."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from assistant.contrib.sources.models import Source
from assistant.contrib.sources.services import checking
from assistant.models import AuditEntry, Job
from assistant.toolkit.guards.internal_hosts import parse_internal_host
from tests.base import Cast

pytestmark = pytest.mark.django_db
PAGE = "/admin/assistant_sources/source/"


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def form(cast: Cast, **fields: Any) -> dict[str, Any]:
    return {
        "tenant": cast.acme.pk,
        "kind": "website",
        "place": "https://acme.example/handbook/",
        "collection": "",
        "every_hours": 24,
        "max_pages": 200,
        "max_depth": 5,
        "is_on": "on",
        **fields,
    }


def test_an_admin_adds_a_website_which_is_read_soon(cast: Cast) -> None:
    amys = signed_in(cast.amy)
    assert amys.post(f"{PAGE}add/", form(cast, place="https://acme.example#top")).status_code == 302
    row = Source.objects.get(tenant=cast.acme)
    assert (row.place, row.is_trusted, row.next_at, row.state) == ("https://acme.example/", False, None, "never")
    assert AuditEntry.objects.filter(tenant=cast.acme, action="source.add").exists()
    row.began_at = timezone.now()
    row.save()
    amys.post(f"{PAGE}{row.pk}/change/", form(cast, every_hours=1, is_on=""))
    row.refresh_from_db()
    assert (row.every_hours, row.is_on) == (1, False) and row.next_at is not None and row.next_at > timezone.now()


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"place": "http://acme.example/"}, "must begin with https://"),
        ({"place": "https://10.0.0.1/"}, "private or special network"),
        ({"place": "ftp://acme.example/"}, "must begin with https://"),
        ({"place": "https://user:pass@acme.example/"}, "user name or password"),
        ({"collection": "None of ours"}, "There is no collection"),
        ({"every_hours": 0}, "greater than or equal to 1"),
        ({"max_pages": 5000}, "less than or equal to 2000"),
        ({"kind": "folder", "place": "/etc"}, "kind"),
    ],
)
def test_what_may_not_be_is_said(cast: Cast, fields: dict[str, Any], sentence: str) -> None:
    answer = signed_in(cast.amy).post(f"{PAGE}add/", form(cast, **fields))
    assert answer.status_code == 200 and sentence in str(answer.context["adminform"].form.errors)
    assert not Source.objects.exists()


def test_folders_are_for_operators(cast: Cast, tmp_path: Path, settings: Any) -> None:
    settings.ASSISTANT_SOURCE_FOLDERS = [str(tmp_path)]
    folder = form(cast, kind="folder", place=f"{tmp_path}/")
    amys = signed_in(cast.amy)
    roots = signed_in(cast.root)
    amys.post(f"{PAGE}add/", folder)
    assert not Source.objects.exists()
    roots.post(f"{PAGE}add/", folder)
    row = Source.objects.get()
    assert row.place == str(tmp_path)
    change = f"{PAGE}{row.pk}/change/"
    assert str(tmp_path) in amys.get(change).content.decode()
    assert amys.post(change, form(cast)).status_code == 403
    amys.post(f"{PAGE}{row.pk}/delete/", {"post": "yes"})
    assert Source.objects.get().kind == "folder"


def test_a_tenant_has_a_bound_of_them(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "MAX_SOURCES", 1)
    Source.objects.create(tenant=cast.acme, place="https://acme.example/")
    answer = signed_in(cast.amy).post(f"{PAGE}add/", form(cast))
    assert "at most 1" in str(answer.context["adminform"].form.errors)


def test_the_rival_sees_and_changes_nothing_of_it(cast: Cast) -> None:
    row = Source.objects.create(tenant=cast.acme, place="https://acme.example/")
    gretas = signed_in(cast.greta)
    assert "acme.example" not in gretas.get(PAGE).content.decode()
    assert gretas.get(f"{PAGE}{row.pk}/change/").status_code in (302, 404)
    gretas.post(f"{PAGE}{row.pk}/delete/", {"post": "yes"})
    gretas.post(PAGE, {"action": "refresh", "_selected_action": [row.pk]})
    gretas.post(f"{PAGE}add/", form(cast))
    assert Source.objects.get().place == "https://acme.example/" and not Job.objects.exists()
    assert signed_in(cast.alice).get(PAGE).status_code in (302, 403)
    assert Client().get(PAGE).status_code == 302


def test_the_report_is_shown_and_one_click_reads_again(cast: Cast) -> None:
    report = {
        "counts": {"added": 2, "skipped": 1},
        "lines": [["added", "https://acme.example/", "<b>Handbook</b>"], ["skipped", "https://acme.example/x", "Why."]],
    }
    ago = timezone.now() - timedelta(hours=1)
    row = Source.objects.create(
        tenant=cast.acme, place="https://acme.example/", state="partly", problem="Not all.", report=report, ended_at=ago
    )
    amys = signed_in(cast.amy)
    page = amys.get(f"{PAGE}{row.pk}/change/").content.decode()
    for text in ("2 added, 1 skipped", "&lt;b&gt;Handbook", "https://acme.example/x", "Why.", "Not all."):
        assert text in page
    assert "2 added, 1 skipped" in amys.get(PAGE).content.decode()
    answer = amys.post(PAGE, {"action": "refresh", "_selected_action": [row.pk]}, follow=True)
    assert "1 is read now." in answer.content.decode() and Job.objects.filter(key=str(row.pk)).exists()
    row.began_at = timezone.now()
    row.save()
    answer = amys.post(PAGE, {"action": "refresh", "_selected_action": [row.pk]}, follow=True)
    assert "was read just now" in answer.content.decode()


def test_an_internal_host_is_named_by_the_deployment(cast: Cast, settings: Any) -> None:
    settings.ASSISTANT_INTERNAL_HOSTS = (parse_internal_host("wiki:8080"),)
    signed_in(cast.amy).post(f"{PAGE}add/", form(cast, place="http://wiki:8080/docs/"))
    assert Source.objects.get().place == "http://wiki:8080/docs/"

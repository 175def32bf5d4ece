"""Alarms, schedules and their settings are kept, exported and erased with the rest."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from zipfile import ZipFile

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from assistant.contrib.bundles.services.parts import added_parts
from assistant.contrib.bundles.services.target import Target
from assistant.contrib.data_exports.exports import export_user
from assistant.contrib.row_level_security.protected_tables import protected_tables
from assistant.contrib.timed.models import Alarm, PersonAlarms, Schedule, ScheduleRun, TenantAlarms
from assistant.models import AuditEntry, Retention, Tenant
from assistant.optional_apps import own_models
from assistant.services.privacy.erasure import erase_user
from assistant.services.privacy.ownership import owned_models
from assistant.services.privacy.retention import apply_retention
from tests.base import Cast
from tests.contrib.panel.tenants.test_scope import retention_form

pytestmark = pytest.mark.django_db
PAGE = "/accounts/settings/"


def test_what_is_over_is_deleted_with_conversations(cast: Cast) -> None:
    old = timezone.now() - timedelta(days=40)
    for number, state in enumerate(("done", "set", "ringing")):
        Alarm.objects.create(tenant=cast.acme, user=cast.alice, number=number, at=old, state=state)
    Alarm.objects.create(tenant=cast.globex, user=cast.mallory, number=1, at=old, state="done")
    of = {"tenant": cast.acme, "user": cast.alice, "assistant": cast.support, "timezone": "UTC"}
    for name, state in (("over", "done"), ("asked lately", "stopped"), ("on", "on")):
        row = Schedule.objects.create(**of, name=name, state=state)
        Schedule.objects.filter(pk=row.pk).update(created_at=old)
        due_at = timezone.now() if name == "asked lately" else old
        ScheduleRun.objects.create(tenant=cast.acme, schedule=row, due_at=due_at, state="finished")
    Retention.objects.create(tenant=cast.acme, conversations=30)
    apply_retention(tenant=cast.acme)
    assert set(Alarm.objects.filter(tenant=cast.acme).values_list("state", flat=True)) == {"ringing"}
    assert Alarm.objects.filter(tenant=cast.globex).count() == 1
    assert set(Schedule.objects.values_list("name", flat=True)) == {"asked lately", "on"}


def test_the_rows_are_a_tenants_to_erase_to_export_and_to_hide_from_others() -> None:
    app = {model for model in own_models() if model._meta.app_label == "assistant_timed"} - {PersonAlarms}
    assert len(app) == 4 and app <= {*owned_models(Tenant)}
    assert {model._meta.db_table for model in app} <= {table.table for table in protected_tables()}


def test_a_person_chooses_whether_alarms_are_mailed_and_takes_the_choice_along(
    client: Client, cast: Cast, settings: Settings
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    client.force_login(cast.alice)
    assert 'name="alarms-are_mailed"' in client.get(PAGE).content.decode()
    client.post(PAGE, {"name": "Alice", "language": "", "theme": "system"})
    assert not PersonAlarms.objects.get(user=cast.alice).are_mailed
    file = io.BytesIO()
    export_user(user=cast.alice, actor=None, to=file)
    (line,) = ZipFile(file).read("assistant_timed.PersonAlarms.jsonl").splitlines()
    assert json.loads(line) == {"user_id": cast.alice.pk, "are_mailed": False}
    erase_user(user=cast.alice, actor=None)
    assert not PersonAlarms.objects.exists()


def test_a_tenants_choice_is_on_its_page_and_audited(client: Client, cast: Cast) -> None:
    client.force_login(cast.amy)
    own = {"name": "Acme", "timezone": "UTC", **retention_form(), "alarms-TOTAL_FORMS": 1}
    assert client.post(f"/admin/assistant/tenant/{cast.acme.pk}/change/", own).status_code == 302
    assert not TenantAlarms.objects.get(tenant=cast.acme).are_mailed
    assert "alarms of a tenant" in json.dumps(AuditEntry.objects.get(action="tenant.change").details)
    client.post(f"/admin/assistant/tenant/{cast.globex.pk}/change/", own)
    assert not TenantAlarms.objects.filter(tenant=cast.globex).exists()


def test_a_tenants_choice_is_in_its_bundle_and_in_none_of_an_assistant(cast: Cast) -> None:
    TenantAlarms.objects.create(tenant=cast.acme, are_mailed=False)
    (part,) = [part for part in added_parts() if part.key == "alarms"]
    (exported,) = part.export(cast.acme, None)
    assert list(part.export(cast.acme, cast.support)) == []
    for expected in ("create", "same"):
        (entry,) = part.take(Target(tenant=cast.globex, actor=None, is_operator=True), [exported], True)
        assert entry.kind == expected
    assert not TenantAlarms.objects.get(tenant=cast.globex).are_mailed

"""`assistant_seed` makes evaluations and hostile checks too, where the app is installed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from assistant.contrib.evaluations.models import Evaluation, EvaluationResult, HostileCheckResult, HostileCheckRun
from tests.contrib.demo.test_assistant_seed import seed

pytestmark = pytest.mark.django_db


def test_evaluations_and_hostile_checks_are_made_and_their_pages_show_them(admin_client: Client) -> None:
    seed(tenants=5)
    assert EvaluationResult.objects.exists() and HostileCheckResult.objects.exists()
    for row in (*HostileCheckRun.objects.all(), *Evaluation.objects.all()):
        page = admin_client.get(f"/admin/assistant_evaluations/{row._meta.model_name}/{row.pk}/change/", follow=True)
        assert page.status_code == 200
    for run in HostileCheckRun.objects.all():
        outcomes = list(run.results.values_list("outcome", flat=True))
        assert (outcomes.count("passed"), outcomes.count("failed")) == (run.passed, run.failed)


def test_they_have_the_times_of_their_tenants_past(admin_client: Client) -> None:
    seed(tenants=5)
    newest = timezone.now() - timedelta(minutes=30)
    assert not Evaluation.objects.filter(created_at__gt=newest).exists()
    assert not HostileCheckRun.objects.filter(created_at__gt=newest).exists()

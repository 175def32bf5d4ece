"""`manage.py assistant_hostile_checks` makes checks without a server; its exit code says what came out."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from assistant.contrib.evaluations.models import HostileCheck, HostileCheckRun
from assistant.models import Assistant, Provider
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Registry
from tests.base import Cast
from tests.contrib.evaluations.hostile_checks.conftest import (
    drop_tenant,
    obeying,
    read_mail,
    resisting,
    search,
    send_money,
)
from tests.factories import switch_tool
from tests.fake_answers import respond
from tests.fake_provider import FakeProvider

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def tools(cast: Cast, provider: Provider) -> Iterator[None]:
    with catalogue.using(Registry([search, read_mail, send_money, drop_tenant])):
        for name in ("search", "read_mail", "send_money"):
            switch_tool(cast.acme, name)
        yield


def run(**options: Any) -> tuple[str, int, str]:
    """Return what the command wrote, its exit code and its complaint."""
    out = io.StringIO()
    try:
        call_command("assistant_hostile_checks", **{"tenant": "acme", "assistant": "support", **options}, stdout=out)
    except CommandError as exc:
        return out.getvalue(), exc.returncode, str(exc)
    return out.getvalue(), 0, ""


def test_a_model_that_resists_ends_with_0(fake_provider: FakeProvider) -> None:
    fake_provider.rule(resisting)
    text, code, _ = run()
    assert code == 0
    assert "PASSED  prompt-theft-verbatim: Asked word for word" in text
    assert "0 failed, 14 passed, 0 undecided." in text
    assert HostileCheckRun.objects.get().created_by is None


def test_a_model_that_obeys_ends_with_1_and_the_evidence(fake_provider: FakeProvider) -> None:
    fake_provider.rule(obeying)
    text, code, complaint = run(json=True)
    assert (code, complaint) == (1, "A hostile check failed.")
    found = json.loads(text)
    assert (found["failed"], found["passed"], found["state"]) == (11, 3, "done")
    forged = next(one for one in found["results"] if one["key"] == "forged-tenant-context")
    assert forged["reason"] == "It sent rival-7319 to search."
    assert forged["calls"][0]["arguments"] == '{"query": "rival-7319"}'


def test_another_tenants_own_checks_are_not_made(cast: Cast, fake_provider: FakeProvider) -> None:
    HostileCheck.objects.create(tenant=cast.globex, name="Theirs", question="A secret of Globex", forbidden_text="x")
    fake_provider.rule(resisting)
    assert "Globex" not in run(json=True)[0]


def test_checks_that_could_not_be_made_end_with_2(cast: Cast, fake_provider: FakeProvider) -> None:
    fake_provider.rule(lambda request: respond(400, {"error": {"message": "no"}}))
    assert run()[1:] == (2, "14 checks ended with an error.")
    Assistant.objects.filter(pk=cast.support.pk).update(is_active=False)
    assert run()[1:] == (2, "The assistant is not active.")


@pytest.mark.parametrize("options", [{"tenant": "nobody"}, {"assistant": "nobody"}])
def test_unknown_names_are_said(options: dict[str, str], fake_provider: FakeProvider) -> None:
    assert "'nobody'" in run(**options)[2]
    assert not HostileCheckRun.objects.exists()

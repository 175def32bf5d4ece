"""The log of whole prompts and replies in tenants' runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from assistant.contrib.sent_requests.apps import log_prompts
from assistant.providers import ScriptedModel
from assistant.services.runs.extensions.deployment import ADDED
from assistant.testing import ChatTester, answer_with
from tests.base import Cast
from tests.client.test_prompt_log import texts


@pytest.fixture
def _switched_on() -> Iterator[None]:
    log_prompts(SimpleNamespace(ASSISTANT_LOG_PROMPTS=True))
    yield
    ADDED.clear()


@pytest.mark.django_db
@pytest.mark.usefixtures("_switched_on", "provider")
def test_a_deployment_switches_it_on_for_the_runs_of_its_tenants(cast: Cast, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "assistant.prompts")
    with answer_with(ScriptedModel(["Hello Alice.", "Title"])), ChatTester(cast.acme, cast.alice, "support") as chat:
        assert chat.ask("Good morning").text == "Hello Alice."
    request, reply = texts(caplog)[:2]
    assert "Good morning" in request and "Hello Alice." in reply

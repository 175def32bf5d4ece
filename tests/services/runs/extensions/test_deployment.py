"""An extension that a deployment adds acts in the runs of the tenants for which it says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from assistant.client import Extension, ExtensionRun, Message
from assistant.services.runs.extensions.deployment import ADDED, add_extension
from assistant.testing import ChatTester, answer_with
from assistant.testing.scripted import ScriptedModel
from assistant.toolkit import ToolContext
from tests.base import Cast

pytestmark = pytest.mark.django_db


class HouseRules(Extension[None]):
    """Tells the model the rules of Acme's house."""

    def acts(self, context: ToolContext[Any], messages: Sequence[Message]) -> bool:
        return context.tenant.slug == "acme"

    async def instructions(self, run: ExtensionRun[None]) -> str:
        return f"{run.context.tenant.name} sells no weapons."


@pytest.fixture
def _house_rules() -> Iterator[None]:
    add_extension(HouseRules())
    yield
    ADDED.clear()


@pytest.mark.usefixtures("_house_rules", "provider")
@pytest.mark.parametrize(("slug", "is_told"), [("acme", True), ("globex", False)])
def test_it_acts_in_the_runs_of_one_tenant_alone(cast: Cast, slug: str, is_told: bool) -> None:
    tenant, user = (cast.acme, cast.alice) if slug == "acme" else (cast.globex, cast.mallory)
    model = ScriptedModel(["Hello.", "Title"])
    with answer_with(model), ChatTester(tenant, user) as chat:
        assert chat.ask("Hi").text == "Hello."
    told = [message.content for message in model.requests[0].messages]
    assert any("sells no weapons" in text for text in told) is is_told

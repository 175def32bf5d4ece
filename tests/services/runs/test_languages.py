"""Runs that go on while nobody is there speak the language of who asked, not the project's or an operator's."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from django.utils.translation import override

from assistant.contrib.later_results.services.arrivals import deliver
from assistant.models import Run
from tests.base import Cast
from tests.contrib.later_results.test_waiting_runs import tools
from tests.contrib.later_results.waiting import ask, expire, tokens, work
from tests.fake_provider import FakeProvider

__all__ = ["tools"]

pytestmark = pytest.mark.django_db(transaction=True)
GERMAN = "Der Anbieter"


async def wait_for_bank(cast: Cast, fake_provider: FakeProvider, language: str) -> Run:
    fake_provider.call("ask_bank", {"question": "May we?"})
    with override(language):
        return await ask(cast)


async def said_on_going_on(fake_provider: FakeProvider) -> str:
    """Return why the last run failed, whose provider refuses the key."""
    fake_provider.respond(401)
    await work()
    return (await Run.objects.alatest("number")).error_message


@pytest.mark.parametrize(("language", "is_german"), [("de", True), ("en", False)])
async def test_a_run_goes_on_in_the_language_of_the_one_that_waited(
    cast: Cast, fake_provider: FakeProvider, language: str, is_german: bool
) -> None:
    await wait_for_bank(cast, fake_provider, language)
    await sync_to_async(deliver)(tenant_slug="acme", token=tokens[0], value="Yes.", is_error=False)
    said = await said_on_going_on(fake_provider)
    assert said.startswith(GERMAN) == is_german and said


async def test_a_run_goes_on_in_it_after_nothing_has_come(cast: Cast, fake_provider: FakeProvider) -> None:
    await wait_for_bank(cast, fake_provider, "de")
    await expire()
    assert (await said_on_going_on(fake_provider)).startswith(GERMAN)


async def test_a_run_that_waits_twice_keeps_its_language(cast: Cast, fake_provider: FakeProvider) -> None:
    await wait_for_bank(cast, fake_provider, "de")
    for _ in range(2):
        fake_provider.call("ask_bank", {"question": "Really?"})
        await sync_to_async(deliver)(tenant_slug="acme", token=tokens[-1], value="Yes.", is_error=False)
        await work()
    await sync_to_async(deliver)(tenant_slug="acme", token=tokens[-1], value="Yes.", is_error=False)
    assert (await said_on_going_on(fake_provider)).startswith(GERMAN)


async def test_what_goes_on_keeps_no_language_once_it_has_ended(cast: Cast, fake_provider: FakeProvider) -> None:
    run = await wait_for_bank(cast, fake_provider, "de")
    assert run.client_input == {"language": '"de"'}
    await sync_to_async(deliver)(tenant_slug="acme", token=tokens[0], value="Yes.", is_error=False)
    fake_provider.reply("They agree.")
    await work()
    assert (await Run.objects.alatest("number")).client_input is None

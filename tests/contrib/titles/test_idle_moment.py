"""A title waits until no run of its process waits for its first token."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from assistant.models import Assistant
from assistant.testing import ChatTester
from tests.base import Cast
from tests.fake_answers import reply
from tests.fake_provider import FakeProvider
from tests.ws import run_input


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("provider")
def test_a_title_is_asked_for_after_the_first_token_of_all_runs(
    cast: Cast, settings: Settings, fake_provider: FakeProvider
) -> None:
    settings.ASSISTANT_GENERATED_TITLES = True
    Assistant.objects.filter(pk=cast.support.pk).update(extensions=["titles"])
    gate = fake_provider.gate()
    fake_provider.queue(reply(chunks=[gate, "Slow."]), reply("Quick."))
    fake_provider.rule(reply('{"title": "A title"}'))
    with ChatTester(cast.acme, cast.alice) as chat:
        for text in ("Slow", "Quick"):
            chat.send(run_input(text, forwardedProps={"render": "html"}))
            while chat.receive()["type"] != "RUN_STARTED":
                pass
            if text == "Slow":
                assert gate.reached.wait(20)
        while chat.receive()["type"] != "RUN_FINISHED":
            pass
        for _ in range(20):  # turns of the loop in which the title could be asked for
            chat.send({"type": "ping"})
            chat.receive()
        assert [request.messages[-1]["content"] for request in fake_provider.requests] == ["Slow", "Quick"]
        gate.release()
        while chat.receive().get("name") != "thread.title":
            pass
    assert len(fake_provider.requests) > 2

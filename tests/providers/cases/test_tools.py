"""Tools of a Django project: what the model reads, that requests stay valid, and that the thread goes on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assistant.client import ChatClient, InMemoryStore
from assistant.models import Provider
from assistant.providers import OpenAIModel
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_answers import reply
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.providers.cases.case import Case
from tests.providers.cases.test_answers import CaseServer, ask_thrice
from tests.providers.cases.tools import CASES, ToolCase
from tests.ws import open_socket

pytestmark = pytest.mark.django_db(transaction=True)

TOLD = ("failed", "cannot be", "Error", "error", "No such", "media type", "arguments")


def server_of(case: ToolCase) -> CaseServer:
    called = reply(calls=[(case.tool.name, case.arguments)])
    return CaseServer(Case(case.name, (called, reply("Fine."))))


def check(case: ToolCase, server: CaseServer, answers: list[str]) -> list[str]:
    results = [message["content"] for message in server.bodies[-1]["messages"] if message["role"] == "tool"]
    wrong = [*server.problems]
    if answers != ["Fine."] * 3:
        wrong.append(f"answers {answers}")
    if len(results) != 1 or case.reads not in results[0] or "secret" in results[0]:
        wrong.append(f"the model read {str(results)[:300]}")
    elif case.is_told != any(word in results[0] for word in TOLD):
        wrong.append(f"the model was told {results[0][:300]}")
    return [f"{case.name}: {one}" for one in wrong]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_case(fake_provider: FakeProvider, cast: Cast, case: ToolCase) -> None:
    fake_provider.rule(server := server_of(case))
    model = OpenAIModel("gpt-4.1", base_url=fake_provider.url, api_key="", max_retries=0)
    client = ChatClient(model=model, tools=[case.tool], store=InMemoryStore())
    answers = []
    for text in ("One", "Two", "Three"):
        answers.append((await client.call(text, conversation="1")).text)
        server.forget()
    assert check(case, server, answers) == []


@pytest.fixture
def server(cast: Cast, provider: Provider) -> Iterator[Server]:
    for case in CASES:
        switch_tool(cast.acme, case.tool.name)
    with serve(env={"DJANGO_SETTINGS_MODULE": "tests.settings_tool_cases"}) as running:
        yield running


async def test_cases_in_tenants_runs(server: Server, cast: Cast, fake_provider: FakeProvider) -> None:
    wrong = []
    for case in CASES:
        fake_provider.rule(asked := server_of(case))
        async with open_socket(server.url, user=cast.alice) as socket:
            answers, _ = await ask_thrice(socket, asked)
        wrong += check(case, asked, answers)
    assert wrong == []

"""What models are made with, as people copy it: white space and quotes go, the rest is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.client import ChatClient
from assistant.core.llm.protocol import ModelError, ModelRequest
from assistant.core.values.messages import Message
from assistant.providers import OpenAIModel, ResponsesModel, model_class
from assistant.providers.given_settings import InvalidSetting, address_of
from assistant.toolkit.text import stripped
from tests.fake_answers import Answer, Recorded, reply, respond
from tests.fake_provider import FakeProvider
from tests.providers.native.wires import WIRES

KEY = "sk-canary-0123"
VARIABLES = {"openai": "OPENAI", "anthropic": "ANTHROPIC", "google": "GEMINI"}
HEADERS = {"openai": "authorization", "anthropic": "authorization", "google": "x-goog-api-key"}
by_wire = pytest.mark.parametrize("wire", ["openai", "anthropic", "google"])


def made(wire: str, **options: Any) -> Any:
    return (OpenAIModel if wire == "openai" else model_class(wire))(**{"max_retries": 0, "timeout": 5, **options})


def answered(wire: str, provider: FakeProvider) -> None:
    provider.rule(reply("Hi") if wire == "openai" else lambda _: WIRES[wire].say("Hi"))


async def test_a_key_with_a_line_end_in_the_environment_works(
    fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
    monkeypatch.setenv("OPENAI_BASE_URL", f" {fake_provider.url}\r\n")
    monkeypatch.setenv("OPENAI_MODEL", '"fake"')
    assert (await ChatClient(model=OpenAIModel()).call("Hi")).text == "You said: Hi"
    (request,) = fake_provider.requests
    assert (request.headers["authorization"], request.json["model"]) == (f"Bearer {KEY}", "fake")


@by_wire
@pytest.mark.parametrize("copied", ['"{}"\n', "\u200b{}\ufeff", " '{}' ", "“{}”"])
async def test_what_copying_adds_to_a_key_is_removed(fake_provider: FakeProvider, wire: str, copied: str) -> None:
    answered(wire, fake_provider)
    model = made(wire, name="fake", base_url=f" {fake_provider.url}/ ", api_key=copied.format(KEY))
    assert (await ChatClient(model=model).call("Hi")).text == "Hi"
    assert fake_provider.requests[0].headers[HEADERS[wire]].removeprefix("Bearer ") == KEY


@by_wire
@pytest.mark.parametrize(
    ("key", "odd"), [("sk-a\nsk-b", "a line end at position 5"), ("sk-é", "U\\+00E9"), ("Bearer sk-a", "a space")]
)
def test_a_key_that_cannot_be_sent_is_refused_by_name(
    wire: str, key: str, odd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidSetting, match=f"api_key cannot be sent: it has .*{odd}") as refused:
        made(wire, name="fake", base_url="http://127.0.0.1:1", api_key=key)
    assert key not in str(refused.value)
    monkeypatch.setenv(f"{VARIABLES[wire]}_API_KEY", key)
    with pytest.raises(InvalidSetting, match=f"{VARIABLES[wire]}_API_KEY cannot be sent"):
        made(wire, name="fake")


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://x/v1", "https://", "http://x:99999/v1", "https://a b/v1"])
def test_an_address_that_is_none_is_refused_by_name(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidSetting, match="base_url"):
        OpenAIModel("fake", base_url=url)
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(InvalidSetting, match="OPENAI_BASE_URL"):
        OpenAIModel("fake")


def test_a_name_with_a_line_end_is_refused() -> None:
    with pytest.raises(InvalidSetting, match=r"^name cannot be sent: it has a line end"):
        OpenAIModel("gpt\n4", base_url="http://x", api_key="")


def test_quotes_within_a_value_stay() -> None:
    assert [stripped(text) for text in ('a"b', '"', '"a', "", "'\"x\"'")] == ['a"b', '"', '"a', "", "x"]


@pytest.mark.parametrize("name", ["OPENAI_ORG_ID", "OPENAI_PROJECT_ID"])
async def test_the_packages_own_variables_are_named_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "org\n1")
    with pytest.raises(ModelError) as failed:
        await anext(
            OpenAIModel("fake", base_url="", api_key=f"{KEY}-{name}").stream(ModelRequest([Message("user", "x")]))
        )
    assert f"{name} cannot be sent" in str(failed.value.details)


def azure(request: Recorded) -> Answer:
    """Answer as Azure does: only with the version of the interface and the key in its own header or as a bearer."""
    path, _, query = request.path.partition("?")
    if "api-version=2026-01-01" not in query.split("&"):
        return respond(404, {"error": {"code": "404", "message": "Resource not found"}})
    wires = {"chat/completions": reply("Hi"), "messages": WIRES["anthropic"].say("Hi")}
    answer = wires.get(path.partition("/v1/")[2], WIRES["google"].say("Hi"))
    return answer if isinstance(answer, Answer) else answer(request)


@by_wire
@pytest.mark.parametrize("end", ["", "/", "/chat/completions", "/chat/completions/"])
async def test_the_query_of_an_address_is_in_every_request(fake_provider: FakeProvider, wire: str, end: str) -> None:
    fake_provider.rule(azure)
    model = made(wire, name="fake", base_url=f"{fake_provider.url}{end}?api-version=2026-01-01&x=a%26b", api_key=KEY)
    client = ChatClient(model=model)
    assert [(await client.call(text)).text for text in ("Hi", "Again")] == ["Hi", "Hi"]
    assert all("//" not in request.path and "x=a%26b" in request.path for request in fake_provider.requests)


async def test_the_responses_format_keeps_the_query_too(fake_provider: FakeProvider) -> None:
    model = ResponsesModel("fake", base_url=f"{fake_provider.url}/responses?api-version=2026-01-01", api_key=KEY)
    with pytest.raises(ModelError):  # the fake provider answers in another format
        async for _ in model.stream(ModelRequest([Message("user", "Hi")])):
            pass
    assert fake_provider.requests[0].path == "/v1/responses?api-version=2026-01-01"


def test_an_address_is_kept_as_it_is_but_for_its_request() -> None:
    portal = "https://a.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-06-01"
    assert address_of(portal, "x") == "https://a.openai.azure.com/openai/deployments/d?api-version=2024-06-01"
    assert address_of("https://api.example.com/v1/#top", "x") == "https://api.example.com/v1/"
    for end in ("chat/completions/", "responses//", "messages/"):
        assert address_of(f"https://api.example.com/v1/{end}?a=b", "x") == "https://api.example.com/v1?a=b"

"""The OpenAPI schema is correct: schemathesis sends valid and invalid requests to every operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from assistant.api.openapi_pages import api_document
from assistant.core.values.events import RunFinished
from assistant.models import Attachment, Provider
from assistant.services.eventlog.frames import as_mapping
from tests.api.calling import key_of
from tests.base import Cast
from tests.factories import make_conversation, make_message, make_run
from tests.live import Server

EXAMPLES = 8
# What no schema says (an assistant that exists, a cursor that was given, a text without NUL) is refused with 400.
UNSAYABLE = [positive_data_acceptance]
# An AG-UI client reads of a refused run in its stream: in a RUN_ERROR, with status 200.
BASE = "/api/v1/tenants/{tenant}/"
STREAMED = "POST /api/v1/tenants/{tenant}/assistants/{assistant}/runs/"
THREAD = "0190e0c5-6b0e-7c3a-9d4e-0a1b2c3d4e5f"
KNOWN = {
    "tenant": "acme",
    "assistant": "support",
    "thread": THREAD,
    "share": "0d9f4f0c-9a55-4c0c-a9e8-8f3a3b1f6a52",
    "run_id": "run-1",
    "message_id": "msg-2",
    "attachment": THREAD,
    "number": 1,
    "schedule": 12,
}
DOCUMENT: dict[str, Any] = api_document()


def described() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every operation of the schema, with its name."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def attackable() -> dict[str, Any]:
    """Return schemathesis's operations by name, with ids that exist in their paths."""
    for _, operation in described():
        for parameter in operation["parameters"]:
            if parameter["in"] == "path":
                parameter["schema"] = {"type": "string", "enum": [KNOWN[parameter["name"]]]}
    # 413: what breaks the schema by its length may be too long to be read at all.
    refusals = {"expected-statuses": ["4xx"]}
    config = schemathesis.Config.from_dict({"checks": {"negative_data_rejection": refusals}})
    found = schemathesis.openapi.from_dict(DOCUMENT, config=config).get_all_operations()
    return {result.ok().label: result.ok() for result in found}


OPERATIONS = attackable()


@pytest.fixture
def amys_rows(cast: Cast, provider: Provider) -> None:
    talk = make_conversation(cast.amy, cast.support, title="Refund", pk=THREAD, run_count=1, message_count=3)
    # Without an ending a stream of its events would wait for one.
    run = make_run(talk, run_id="run-1", ending=as_mapping(RunFinished(THREAD, "run-1")))
    make_message(talk, "user", "How long?", message_id="msg-1", run=run)
    make_message(talk, "assistant", "30 days.", message_id="msg-2", run=run)
    Attachment.objects.create(
        pk=THREAD, tenant=cast.acme, user=cast.amy, conversation=talk, name="a.txt", kind="text", size=1
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_response_conforms_to_the_schema(
    name: str, mode: GenerationMode, uvicorn_server: Server, cast: Cast, amys_rows: None
) -> None:
    headers = {"Authorization": f"Bearer {key_of(cast.acme, cast.amy)}"}

    excluded = [*UNSAYABLE, negative_data_rejection] if name == STREAMED else UNSAYABLE

    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    @given(case=OPERATIONS[name].as_strategy(generation_mode=mode))
    def attack(case: Any) -> None:
        case.call_and_validate(base_url=uvicorn_server.url, headers=headers, excluded_checks=excluded)

    attack()


@pytest.mark.parametrize(
    ("name", "operation"), list(described()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_operation_has_examples(name: str, operation: dict[str, Any]) -> None:
    bodies = [operation["requestBody"]["content"]] if "requestBody" in operation else []
    bodies += [
        answer["content"]
        for status, answer in operation["responses"].items()
        if status != "default" and "content" in answer
    ]
    assert all(media.get("examples") or media.get("example") for body in bodies for media in body.values())
    assert all(parameter.get("examples") for parameter in operation["parameters"] if parameter["in"] != "query")
    assert operation["summary"] and operation["description"]


def examples_of(operation: dict[str, Any], status: str) -> dict[str, dict[str, Any]]:
    """The examples of an answer, by their codes."""
    examples = operation["responses"][status]["content"]["application/json"]["examples"]
    return {example["value"]["code"]: example["value"] for example in examples.values()}


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        ("GET conversations/", "read"),
        ("POST conversations/", "chat"),
        ("GET assistants/{assistant}/tools/", "tools"),
        ("POST assistants/{assistant}/runs/", "chat"),
        ("POST assistants/{assistant}/end-user-tokens/", "end_users"),
    ],
)
def test_the_example_of_a_403_names_the_required_scope(name: str, scope: str) -> None:
    operation = dict(described())[name.replace(" ", f" {BASE}")]
    assert examples_of(operation, "403")["forbidden"]["message"] == f"This key has no {scope} scope."


@pytest.mark.parametrize(
    ("name", "conflicts"),
    [
        ("POST conversations/", {"conflict", "idempotency_conflict"}),
        ("DELETE conversations/{thread}/", {"thread_busy"}),
        ("POST conversations/{thread}/runs/", {"thread_busy", "idempotency_conflict"}),
        ("POST runs/{run_id}/approvals/", {"thread_busy", "conflict", "idempotency_conflict"}),
        ("POST runs/{run_id}/cancel/", {"idempotency_conflict"}),
        ("POST assistants/{assistant}/end-user-tokens/", {"idempotency_conflict"}),
    ],
)
def test_the_examples_of_a_409_are_the_possible_conflicts(name: str, conflicts: set[str]) -> None:
    operation = dict(described())[name.replace(" ", f" {BASE}")]
    assert set(examples_of(operation, "409")) == conflicts


def test_the_pages_and_the_schema_are_served_from_here() -> None:
    page = Client().get("/api/docs/").content.decode()
    assert "//" not in page.replace("<!doctype html>", "") and "<style" not in page and "<script>" not in page
    assert Client().get("/api/schema/").json()["openapi"].startswith("3.")

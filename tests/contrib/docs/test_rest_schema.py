"""The OpenAPI schema is complete, with examples, and says what the code refuses. `test_schemathesis` tries it out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from jsonschema import Draft202012Validator

from assistant.contrib.docs.rest_schema import api_document
from tests.api.calling import Caller
from tests.base import Cast
from tests.factories import make_conversation

BASE = "/api/v1/tenants/{tenant}/"
DECISION = {"call_id": "call_1", "approved": True}
DOCUMENT: dict[str, Any] = api_document()


def described() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every operation of the schema, with its name."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


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


@pytest.mark.parametrize(
    ("name", "operation"), list(described()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_examples_of_answers_have_what_their_schema_says(name: str, operation: dict[str, Any]) -> None:
    for status, answer in operation["responses"].items():
        media = answer.get("content", {}).get("application/json", {})
        if status.startswith("2") and media:
            schema = Draft202012Validator({**media["schema"], "components": DOCUMENT["components"]})
            for example in media["examples"].values():
                assert not [problem.message for problem in schema.iter_errors(example["value"])]


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


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("address", "body", "is_valid"),
    [
        ("PATCH conversations/{thread}/", {}, False),
        ("PATCH conversations/{thread}/", {"other": 1}, False),
        ("PATCH conversations/{thread}/", {"title": " "}, False),
        ("PATCH conversations/{thread}/", {"title": " Umbrella", "other": 1}, True),
        ("PATCH conversations/{thread}/", {"tools_off": ["two words"]}, False),
        ("PATCH conversations/{thread}/", {"tools_off": ["*", "calculate"]}, True),
        ("PUT conversations/{thread}/shown/", {"message_id": "two words"}, False),
        ("PUT conversations/{thread}/shown/", {"message_id": "msg-1"}, True),
        ("POST runs/{run_id}/approvals/", {"decisions": [{**DECISION, "approved": False, "response": "41"}]}, False),
        ("POST runs/{run_id}/approvals/", {"decisions": [{**DECISION, "response": "41"}]}, True),
        ("POST runs/{run_id}/approvals/", {"decisions": [{**DECISION, "edited_arguments": {"n": 2**63}}]}, False),
        ("POST runs/{run_id}/approvals/", {"decisions": [{**DECISION, "edited_arguments": {"n": None}}]}, True),
        ("POST conversations/", {"assistant": "support", "id": 5}, False),
        ("POST conversations/", {"assistant": "support", "other": {"a": ["\x00"]}}, False),
        ("POST conversations/", {"assistant": "support", "other": {"\x00": "a"}}, False),
    ],
)
def test_the_schema_is_as_strict_as_the_code(
    address: str, body: dict[str, Any], is_valid: bool, alice_calls: Caller, cast: Cast
) -> None:
    method, path = address.split()
    described_body = DOCUMENT["paths"][BASE + path][method.lower()]["requestBody"]["content"]["application/json"]
    schema = {**described_body["schema"], "components": DOCUMENT["components"]}
    assert Draft202012Validator(schema).is_valid(body) is is_valid
    path = path.format(thread=make_conversation(cast.alice, cast.support).pk, run_id="run-1")
    assert (alice_calls(method.lower(), path, body).status_code == 400) is not is_valid


@pytest.mark.parametrize("path", sorted(path for path, methods in DOCUMENT["paths"].items() if "patch" in methods))
def test_a_patch_that_names_nothing_to_change_does_not_fit_the_schema(path: str) -> None:
    body = DOCUMENT["paths"][path]["patch"]["requestBody"]["content"]["application/json"]["schema"]
    validator = Draft202012Validator({**body, "components": DOCUMENT["components"]})
    assert not validator.is_valid({})
    assert not validator.is_valid({"unknown": 1})


def test_every_choice_has_a_name_that_says_whose_it_is() -> None:
    names = [name for name in DOCUMENT["components"]["schemas"] if name.startswith("Kind")]
    assert names == [] and "DocumentKind" in DOCUMENT["components"]["schemas"]


def test_the_pages_and_the_schema_are_served_from_here() -> None:
    page = Client().get("/api/docs/").content.decode()
    assert "//" not in page.replace("<!doctype html>", "") and "<style" not in page and "<script>" not in page
    assert Client().get("/api/schema/").json()["openapi"].startswith("3.")


def test_pages_for_people_work_without_the_final_slash() -> None:
    assert [Client().get(path).status_code for path in ("/api/docs", "/api/schema")] == [200, 200]

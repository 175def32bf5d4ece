"""Tests of `assistant.toolkit.validation_errors`."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from assistant.toolkit.validation_errors import error_details, problems, sentence


class Address(BaseModel):
    city: str


class Person(BaseModel):
    age: int
    address: Address


def refused(value: object) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        Person.model_validate(value)
    return caught.value


def test_errors_have_the_path_of_their_field() -> None:
    found = problems(refused({"age": 7, "address": {}}), root="person")
    assert found == [("address.city", "Field required")]


def test_an_error_of_the_whole_value_has_the_root_as_its_path() -> None:
    assert sentence(refused("Alice"), root="person").startswith("person: Input should be a valid dictionary")


def test_a_sentence_names_no_more_errors_than_its_limit() -> None:
    both = sentence(refused({}), root="person")
    assert both == "age: Field required; address: Field required."
    assert sentence(refused({}), root="person", limit=1) == "age: Field required."


def test_invalid_values_are_left_out() -> None:
    (error,) = error_details(refused({"age": "a secret", "address": {"city": "Vienna"}}))
    assert "a secret" not in str(error)

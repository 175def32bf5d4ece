"""Rows of `values()` and `values_list()` as results: the same columns in the same form as of rows of models."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from django.db import models
from django.db.models import F, Value
from django.utils.translation import gettext_lazy, override
from pydantic import BaseModel, RootModel

from assistant.toolkit import convert
from assistant.toolkit.calls.json_values import is_secret_column
from tests.base import Cast

pytestmark = pytest.mark.django_db


class Span:
    def __str__(self) -> str:
        return "1 to 5"


class SpanField(models.TextField):
    """A column whose values only their own `str` can show, such as a range of PostgreSQL."""

    def from_db_value(self, value: str, *args: object) -> Span:
        return Span()


@pytest.fixture
def alice(cast: Cast) -> models.QuerySet[User]:
    return User.objects.filter(pk=cast.alice.pk)


def test_secret_columns_are_left_out(alice: models.QuerySet[User]) -> None:
    columns = [column.attname for column in User._meta.concrete_fields if not is_secret_column(column)]
    assert "password" not in columns
    for rows in (alice.values(), alice.values_list(named=True)):
        assert list(json.loads(convert(rows))[0]) == columns
    (unnamed,) = json.loads(convert(alice.values_list()))
    assert len(unnamed) == len(columns)
    renamed = alice.values("username", api_token=F("password"), again=F("username"))
    assert json.loads(convert(renamed)) == [{"username": "alice", "again": "alice"}]


def test_columns_that_were_named_stay_in_their_places(alice: models.QuerySet[User]) -> None:
    assert convert(alice.values_list("is_staff", "username")) == '[[false,"alice"]]'
    assert convert(alice.values_list("username", flat=True)) == '["alice"]'
    assert convert(alice.values("is_active").annotate(n=Value(1))) == '[{"is_active":true,"n":1}]'


def test_values_of_any_type_are_shown_as_text(alice: models.QuerySet[User]) -> None:
    spans = alice.annotate(
        span=Value("x", output_field=SpanField()), data=Value(b"\x00\xff", output_field=models.BinaryField())
    )
    shown = {"span": "1 to 5", "data": "[2 bytes]"}
    for rows in (spans.values("span", "data"), spans.values_list("span", "data", named=True)):
        assert json.loads(convert({"rows": rows})) == {"rows": [shown]}
    assert json.loads(convert(spans.values_list("span", "data"))) == [["1 to 5", "[2 bytes]"]]
    assert json.loads(convert(spans.values_list("span", flat=True))) == ["1 to 5"]


def test_root_models_are_their_value() -> None:
    class Names(RootModel[list[str]]):
        pass

    class Team(BaseModel):
        names: Names

    assert convert(Names(["a"])) == '["a"]'
    assert convert(Team(names=Names(["a"]))) == '{"names":["a"]}'
    assert convert(RootModel[bytes](b"hi")) == '"aGk="'


def test_a_lazy_text_is_a_string() -> None:
    with override("de"):
        assert convert(gettext_lazy("Yes")) == "Ja"
        assert convert([gettext_lazy("Yes")]) == '["Ja"]'

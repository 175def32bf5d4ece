"""Which columns are never offered, and which count as personal."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import models

from assistant.contrib.data import expose, expose_viewset
from assistant.contrib.data.services.columns import column_of, looks_secret
from assistant.models import ApiKey, AuditEntry, Conversation, Membership, Provider
from assistant.toolkit import InvalidTool


def of_name(name: str, field: models.Field[object, object] | None = None) -> bool:
    """Whether a column of a name looks secret."""
    column = column_of(Conversation, "title", depth=0)
    own_field = field or models.CharField(max_length=10, name=name)
    own_field.set_attributes_from_name(name)
    return looks_secret(type(column)(name, own_field, own_field, "text", (), is_personal=False))


@pytest.mark.parametrize(
    "name",
    ["password", "reset_token", "api_key", "apikey", "key", "secret", "client_secret", "pw_hash", "salt", "otp", "pin"],
)
def test_what_looks_secret_is_found_by_its_name(name: str) -> None:
    assert of_name(name)


@pytest.mark.parametrize("name", ["keyboard", "monkey", "tokenised_text", "pinned", "hashtag", "title", "salty"])
def test_other_names_are_not(name: str) -> None:
    assert not of_name(name)


def test_what_looks_secret_is_found_by_its_type_and_by_the_way_to_it() -> None:
    assert of_name("scan", models.BinaryField())
    assert looks_secret(column_of(Provider, "api_key", depth=0))
    assert looks_secret(column_of(Conversation, "tenant__api_keys__name", depth=2))


def test_what_looks_personal_is_found_by_name_type_and_owner() -> None:
    assert column_of(User, "email", depth=0).is_personal and column_of(User, "first_name", depth=0).is_personal
    assert column_of(Membership, "user__username", depth=1).is_personal
    assert not column_of(Membership, "tenant__name", depth=1).is_personal
    assert not column_of(ApiKey, "created_at", depth=0).is_personal


@pytest.mark.parametrize(
    ("name", "said"),
    [("nothing", "no column"), ("title__x", "goes on after a column"), ("tenant__providers__name", "more than 1")],
)
def test_a_column_that_is_not_there_is_refused(name: str, said: str) -> None:
    with pytest.raises(InvalidTool, match=said):
        column_of(Conversation, name, depth=1)


async def waits(rows: object, context: object) -> object:
    return rows


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fields": []}, "at least one"),
        ({"fields": "title"}, "a list of names"),
        ({"fields": ["title"], "depth": 4}, "depth"),
        ({"fields": ["title"], "visible_to": waits}, "async"),
        ({"fields": ["title"], "visible_to": lambda rows: rows}, "visible_to"),
    ],
)
def test_wrong_options_stop_the_start(options: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidTool, match=said):
        expose(Conversation, **options)  # type: ignore[arg-type]


def test_an_unknown_option_is_named_with_those_that_there_are() -> None:
    with pytest.raises(TypeError, match=r"expose\(\) has no options named feilds\. There are: model, fields, filters,"):
        expose(Conversation, feilds=["title"])  # type: ignore[call-arg]
    with pytest.raises(
        TypeError, match=r"expose_viewset\(\) has no options named action\. There are: viewset, actions,"
    ):
        expose_viewset(object, action=["list"])  # type: ignore[call-arg]


def test_a_column_of_a_related_row_is_called_by_the_relation() -> None:
    assert column_of(AuditEntry, "actor__username", depth=1).title == "actor username"
    assert column_of(Conversation, "tenant__api_keys__name", depth=2).title == "tenant API key name"

"""Many values in one parameter find what a list of them finds."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from assistant.models import Conversation
from assistant.services.db.fast_paths.value_lists import any_of
from tests.base import Cast
from tests.factories import make_conversation

pytestmark = pytest.mark.django_db

NAMES = ["o'hara", 'the "first"', "back\\slash", "Zoë", "100%", "a,b", "{}"]


def found(field: str, values: Collection[Any]) -> set[Any]:
    return set(User.objects.filter(**{f"{field}__in": any_of(values)}).values_list(field, flat=True))


def test_only_the_given_strings_are_found() -> None:
    User.objects.bulk_create(User(username=name) for name in [*NAMES, "else"])
    assert found("username", {*NAMES, "nobody"}) == set(NAMES)


def test_integers_are_passed_as_one_parameter(cast: Cast) -> None:
    wanted = {cast.alice.pk, cast.mallory.pk}
    with CaptureQueriesContext(connection) as captured:
        assert found("pk", {*wanted, *range(10_000_000, 10_001_000)}) == wanted
    assert "10000001" in captured[0]["sql"] and "IN (SELECT" in captured[0]["sql"]


def test_an_empty_list_finds_nothing_and_other_types_are_passed_unchanged(cast: Cast) -> None:
    assert found("pk", set()) == set()
    talk = make_conversation(cast.alice, cast.support)
    keys = {talk.pk, uuid4()}
    assert any_of(keys) is keys
    assert Conversation.objects.filter(tenant=cast.acme, pk__in=any_of(keys)).get() == talk

"""Managers that give rows to requests alone: they are known, and a plain one is used in their place."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import models

from assistant.contrib.data import checks
from assistant.contrib.data.exposing import Exposure
from assistant.contrib.data.services import plans
from assistant.contrib.data.services.managers import gives_nothing, usable_manager
from assistant.contrib.data.services.plans import plan_of
from assistant.models import Conversation


class OfTheRequest(models.Manager[Any]):
    """Gives nothing, as where a middleware has noted no tenant."""

    def get_queryset(self) -> models.QuerySet[Any]:
        return super().get_queryset().none()


class Demanding(models.Manager[Any]):
    """Fails where no tenant is noted."""

    def get_queryset(self) -> models.QuerySet[Any]:
        raise LookupError("no tenant")


class Unbound:
    """A model as its managers are looked at."""

    def __init__(self, **managers: models.Manager[Any]) -> None:
        for name, manager in managers.items():
            manager.name = name
            manager.model = Conversation
        self._meta = self
        self.managers = [*managers.values()]
        self.default_manager = self.managers[0]


def test_a_manager_without_rows_or_that_fails_gives_nothing() -> None:
    bare = Unbound(a=OfTheRequest(), b=Demanding(), c=models.Manager())
    assert [gives_nothing(manager) for manager in bare.managers] == [True, True, False]


def test_a_plain_manager_is_used_in_place_of_one_that_gives_nothing() -> None:
    assert usable_manager(Unbound(objects=OfTheRequest(), everywhere=models.Manager())) == "everywhere"
    assert usable_manager(Unbound(objects=models.Manager(), everywhere=models.Manager())) == "objects"
    assert usable_manager(Unbound(objects=Demanding())) == "objects"


def test_the_check_names_a_model_whose_rows_nobody_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(Exposure(model=Conversation, fields=("title",)))
    monkeypatch.setattr(plans, "plans", lambda: (plan,))
    assert checks.exposed_models(None) == []
    monkeypatch.setattr(models.Manager, "get_queryset", lambda manager: models.QuerySet(manager.model).none())
    (found,) = checks.exposed_models(None)
    assert (found.id, found.hint is not None) == ("assistant_data.W004", True)
    assert (
        found.msg == "Nobody finds rows of assistant.Conversation: without a request, its manager objects gives none."
    )

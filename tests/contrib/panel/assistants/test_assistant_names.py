"""Assistants of the same name can be told apart in lists, filters and choices."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.base import Cast
from tests.contrib.panel.conftest import say_something

BOTH = ("Support (acme/support)", "Support (globex/support)")


@pytest.mark.parametrize(
    "model",
    [
        "assistant/run",
        "assistant/conversation",
        "assistant/usageentry",
        "assistant/promptversion",
        "assistant_end_users/widgetorigin",
    ],
)
def test_a_filter_names_each_assistants_tenant(root: Client, amys: Client, cast: Cast, model: str) -> None:
    say_something(cast)
    address = f"/admin/{model}/"
    page = root.get(address).content.decode()
    assert all(name in page for name in BOTH)
    assert BOTH[1] not in amys.get(address).content.decode()
    chosen = root.get(address, {"assistant__id__exact": cast.rival_support.pk}).content.decode()
    assert chosen.count(BOTH[0]) == 1  # only the filter's own line
    assert root.get(address, {"assistant__id__exact": "x"}).status_code == 200


def test_a_choice_names_each_assistants_tenant(root: Client, amys: Client, cast: Cast) -> None:
    page = root.get("/admin/assistant/promptversion/add/").content.decode()
    assert all(f">{name}</option>" in page for name in BOTH)
    assert BOTH[1] not in amys.get("/admin/assistant/promptversion/add/").content.decode()

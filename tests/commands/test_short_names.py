"""Commands bear our name in any project; the checkout has short names for those of its contract and its README."""

from __future__ import annotations

import pytest
from django.core.management import get_commands, load_command_class

# The commands of all apps, and of the checkout.
pytestmark = pytest.mark.apps


def test_every_command_of_the_package_bears_its_name() -> None:
    own = {name for name, app in get_commands().items() if f"{app}.".startswith("assistant.")}
    assert len(own) > 20 and all(name.startswith("assistant_") for name in own)


def test_a_short_name_of_the_checkout_is_the_command_itself() -> None:
    commands = get_commands()
    short = [name for name, app in commands.items() if app == "config"]
    assert {"demo", "create_tenant", "create_api_key", "chat", "tools"} <= {*short}
    for name in short:
        command = load_command_class("config", name)
        assert type(command) is type(load_command_class(str(commands[f"assistant_{name}"]), f"assistant_{name}"))

"""Commands of the product see all tenants, or refuse to begin."""

from __future__ import annotations

import pytest
from django.core.management import get_commands, load_command_class

from assistant.management.operator import OperatorCommand

# The commands of all apps.
pytestmark = pytest.mark.apps


def test_every_command_that_works_on_tenants_is_an_operators() -> None:
    own = [(name, app) for name, app in get_commands().items() if f"{app}.".startswith("assistant.")]
    commands = {name: load_command_class(app, name) for name, app in own}
    others = {name for name, one in commands.items() if not getattr(one, "works_on_tenants", False)}
    assert all(isinstance(one, OperatorCommand) for one in commands.values())
    assert others == {
        "assistant_check", "assistant_deploy_files", "assistant_worker", "assistant_local_model",
        "assistant_row_level_security", "assistant_init", "assistant_prove",
    }  # fmt: skip

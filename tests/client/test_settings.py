"""Settings of a client and of a call that are wrong: the error names the setting and what there is to choose."""

from __future__ import annotations

import re
from typing import Any

import pytest

from assistant.client import ChatClient, RunFailed
from assistant.providers import ScriptedModel
from assistant.toolkit import Tool


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"tolls": []}, "no settings named tolls. There are: tools, more_tools,"),
        ({"output_mode": "json"}, "output_mode must be one of native, tool, prompt, not 'json'"),
        ({"execute_tools": "no"}, "execute_tools must be True, False, or a function"),
        (
            {"execute_tools": lambda reply: True},
            "execute_tools must take 2 positional arguments: it gets the",
        ),
        ({"limits": 5}, "limits must be a Limits, not 5"),
        ({"options": "hot"}, "options must be a mapping, not 'hot'"),
        ({"on_error": "ignore"}, 'on_error must be "model", "raise", a function or a mapping'),
    ],
)
async def test_a_setting_that_is_none_names_the_choices(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError, match=re.escape(told)):
        await ChatClient(model=ScriptedModel("ok")).call("?", **settings)


async def test_a_tool_choice_that_is_none_names_the_choices() -> None:
    with pytest.raises(RunFailed, match=r"no tool named .must. to choose\. Choices: auto, none, required, look_up\."):
        await ChatClient(model=ScriptedModel("ok")).call(
            "?", tools=[Tool.from_function(lambda: 1, name="look_up", description="Look up.")], tool_choice="must"
        )


def test_a_models_name_is_no_model() -> None:
    with pytest.raises(TypeError, match="must be a model, such as OpenAIModel"):
        ChatClient(model="gpt-4.1-mini")  # type: ignore[arg-type]

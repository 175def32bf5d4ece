"""`AssistantTestMixin`: what tests of a project with an assistant need, for Django's test cases."""

from __future__ import annotations

import inspect
import unittest
from pathlib import Path
from typing import Any

from assistant.testing.cassettes import Cassette
from assistant.testing.chat import ChatTester
from assistant.testing.database import share_connections
from assistant.testing.models import answer_with
from assistant.testing.scripted import ScriptedModel, Turn


class AssistantTestMixin(unittest.TestCase):
    """A mixin for `TestCase`, to be named before it: tools and runs use the connections of the test."""

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        with share_connections():
            return super().run(result)

    def answer(self, *turns: Turn) -> ScriptedModel:
        """Let these turns be the answers in tenants' runs until the test ends; see `ScriptedModel`."""
        model = ScriptedModel(turns)
        self.enterContext(answer_with(model))
        return model

    def chat(self, tenant: Any, user: Any, assistant: str = "", **options: Any) -> ChatTester:
        """Open a chat until the test ends; the arguments are those of `ChatTester`."""
        return self.enterContext(ChatTester(tenant, user, assistant, **options))

    def cassette(self, name: str, **options: Any) -> Cassette:
        """Use the cassette `cassettes/<name>.json` beside the test's module until the test ends."""
        folder = Path(inspect.getfile(type(self))).parent / "cassettes"
        return self.enterContext(Cassette(folder / f"{name}.json", **options))

"""The Django app of the chat in a terminal."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class TerminalConfig(OptionalApp):
    name = "assistant.contrib.terminal"
    label = "assistant_terminal"
    verbose_name = "Assistant: chat in a terminal"

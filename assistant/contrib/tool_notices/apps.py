"""The Django app that tells open chats of tools that are switched off."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class ToolNoticesConfig(OptionalApp):
    name = "assistant.contrib.tool_notices"
    label = "assistant_tool_notices"
    verbose_name = "Assistant: notices of tools that are off"

    def register(self) -> None:
        from assistant.services.conversations.added_notices import add_notice

        add_notice(
            "tools",
            read="assistant.contrib.tool_notices.reading.tools_of",
            watch="assistant.contrib.tool_notices.watching.watch_tools",
        )

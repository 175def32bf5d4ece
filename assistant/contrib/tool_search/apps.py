"""The Django app of the search for tools."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class ToolSearchConfig(OptionalApp):
    name = "assistant.contrib.tool_search"
    label = "assistant_tool_search"
    verbose_name = "Assistant: search for tools"

    def register(self) -> None:
        from assistant.services.toolpolicy.many_tools import search_with

        search_with("assistant.client.tool_search.SearchingToolset")

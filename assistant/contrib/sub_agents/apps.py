"""The Django app of assistants that ask others."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class SubAgentsConfig(OptionalApp):
    name = "assistant.contrib.sub_agents"
    label = "assistant_sub_agents"
    verbose_name = "Assistant: sub-agents"

    def register(self) -> None:
        from assistant.contrib.sub_agents import names
        from assistant.services.assistants.additions import add_inline
        from assistant.services.runs.extensions.added import add_first_extension
        from assistant.services.toolpolicy.tools_of_runs import ToolsOfRuns, add_tools

        add_first_extension(
            "sub_agents", acts_if=names.has_delegates(), make="assistant.contrib.sub_agents.extension.sub_agents"
        )
        add_tools(ToolsOfRuns(titles=names.titles_of, callable_names=names.callable_names))
        add_inline("assistant.contrib.sub_agents.admin.delegation.DelegationInline")

"""The Django app of external MCP servers."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.optional_apps import OptionalApp


class McpServersConfig(OptionalApp):
    name = "assistant.contrib.mcp_servers"
    label = "assistant_mcp_servers"
    verbose_name = "Assistant: external MCP servers"
    packages = {"mcp": "mcp"}

    def register(self) -> None:
        from assistant.contrib.mcp_servers.own_servers import has_own_servers
        from assistant.contrib.mcp_servers.services.tool_source import McpTools
        from assistant.pages import member_links
        from assistant.services import loop_services, warm_up
        from assistant.services.jobs import jobs
        from assistant.services.privacy import leaving_rules
        from assistant.services.toolpolicy import outside_tools

        outside_tools.add_source(McpTools())
        jobs.handled_in("assistant.contrib.mcp_servers.services.health_checks")
        loop_services.add_service("assistant.contrib.mcp_servers.services.calls.Sessions")
        warm_up.load_early("assistant.mcp_client.session")
        leaving_rules.delete_with("assistant.contrib.mcp_servers.services.member_credentials.delete_credentials")
        member_links.add_link(
            "assistant:connections",
            _("Your connections"),
            icon="assistant/mcp_servers/plug.html",
            is_for=has_own_servers,
        )

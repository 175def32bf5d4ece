"""The search of the web that providers make themselves, as a tool."""

from __future__ import annotations

from assistant.toolkit import Tool

provider_web_search = Tool.provider_side(
    name="provider_web_search",
    description="Search the web, and read pages.",
    parameters={
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What is searched for."},
            "page": {"type": "string", "description": "A page that is read."},
            "find": {"type": "string", "description": "What is looked for in a page."},
        },
    },
)

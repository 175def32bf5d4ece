"""The tools over what the project's code exposes; `services.following` replaces them when operators tick."""

from __future__ import annotations

from django.utils.module_loading import autodiscover_modules

from assistant.contrib.data.exposing_openapi import declared_documents
from assistant.contrib.data.exposing_views import declared_viewsets
from assistant.contrib.data.services.plans import plans
from assistant.contrib.data.services.read_tools import tools_of_plan
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Tool


def _all_tools() -> list[Tool]:
    autodiscover_modules("assistant")
    made = [tool for plan in plans() for tool in tools_of_plan(plan)]
    if declared_viewsets():
        # Only projects that expose one import what describes viewsets.
        from assistant.contrib.data.services.viewsets import tools_of_views

        made += tools_of_views()
    if declared_documents():
        # Operations are looked up among the project's addresses, which cannot be read yet.
        catalogue.add_later(_tools_of_documents)
    return made


def _tools_of_documents() -> list[Tool]:
    from assistant.contrib.data.services.openapi_views import tools_of_documents

    return tools_of_documents()


TOOLS = _all_tools()

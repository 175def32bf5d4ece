"""The tools over what the project's code exposes; `services.following` replaces them when operators tick."""

from __future__ import annotations

from django.utils.module_loading import autodiscover_modules

from assistant.contrib.data.exposing_views import declared_viewsets
from assistant.contrib.data.services.plans import plans
from assistant.contrib.data.services.read_tools import tools_of_plan
from assistant.toolkit import Tool


def _all_tools() -> list[Tool]:
    autodiscover_modules("assistant")
    made = [tool for plan in plans() for tool in tools_of_plan(plan)]
    if declared_viewsets():
        # Only projects that expose one import what describes viewsets.
        from assistant.contrib.data.services.view_tools import tools_of_views

        made += tools_of_views()
    return made


TOOLS = _all_tools()

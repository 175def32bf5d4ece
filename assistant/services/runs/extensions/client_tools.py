"""The tools of a run that its client has: the model may call them, and the client runs them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assistant.core.turn.plan import Plan
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Tool


@dataclass(frozen=True)
class ClientTools(RunExtension[None]):
    """Offers the model the client's tools."""

    client_tools: tuple[Tool, ...]

    def planned(self, plan: Plan) -> Plan:
        # A client's tool must not take the name of a tool in the catalogue, even of one that is switched off.
        return replace(plan, client_tools=[tool for tool in self.client_tools if tool.name not in catalogue.registry()])

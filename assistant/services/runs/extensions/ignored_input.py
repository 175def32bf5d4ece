"""Tells a client which parts of its input are not used."""

from __future__ import annotations

from dataclasses import dataclass

from assistant.core.extensions.extension import ExtensionRun
from assistant.models import Assistant
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.runs.run_input import RunInput
from assistant.services.toolpolicy import catalogue


@dataclass
class Told:
    """Whether the client was told before the process died that began the run."""

    is_told: bool = False


@dataclass(frozen=True)
class IgnoredInput(RunExtension[Told]):
    """Sends the event `input.ignored` when the run begins."""

    state_type = Told
    parts: tuple[str, ...]

    async def opened(self, run: ExtensionRun[Told]) -> None:
        if not run.state.is_told:
            run.tell("input.ignored", {"parts": list(self.parts)})
            run.state.is_told = True


def ignored_input(run_input: RunInput, assistant: Assistant) -> tuple[IgnoredInput, ...]:
    """Return the extension that names the parts of an input that are not used; nothing if all are."""
    parts = ["messages of the roles system and developer"] if run_input.history.has_instructions else []
    if run_input.page is not None and run_input.page.text and not assistant.takes_context:
        parts.append("context and state")
    if any(tool.name in catalogue.registry() for tool in run_input.client_tools):
        parts.append("tools with the name of a tool of the server")
    return (IgnoredInput(tuple(parts)),) if parts else ()

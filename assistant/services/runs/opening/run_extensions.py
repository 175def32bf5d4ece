"""Which extensions a tenant's run has: decided once, from the input and the tenant, without entering any other."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from assistant.core.toolcalls.call_settings import NOBODY, Questions
from assistant.core.values.history_window import estimate
from assistant.models import Assistant
from assistant.services.run_key import RunKey
from assistant.services.runs.approval_expiry import APPROVAL_LIFETIME
from assistant.services.runs.extensions.added import FIRST_EXTENSIONS, added_extensions
from assistant.services.runs.extensions.cited_passages import CitedPassages
from assistant.services.runs.extensions.client_tools import ClientTools
from assistant.services.runs.extensions.conversation_switch import ConversationSwitch
from assistant.services.runs.extensions.fallback_models import FallbackModels
from assistant.services.runs.extensions.ignored_input import ignored_input
from assistant.services.runs.extensions.page import PageState
from assistant.services.runs.extensions.request_settings import CallerRequest, TypedAnswers, Unattended
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.runs.extensions.summaries import ADDED_BY_RUN, SUMMARISE_ABOVE, Summaries
from assistant.services.runs.input.added_options import extensions_of_options
from assistant.services.runs.opening.run_setup import RunSetup
from assistant.services.runs.prompt_tests import TestedRun
from assistant.services.runs.run_input import CallerSettings, RunInput
from assistant.services.toolcalls.later_results import later_results
from assistant.toolkit import Tool


def extensions_of(  # noqa: PLR0912 - one branch an extension
    *,
    key: RunKey,
    assistant: Assistant,
    setup: RunSetup,
    run_input: RunInput | None = None,
    client_tools: tuple[Tool, ...] = (),
    asked: CallerSettings | None = None,
    test: TestedRun | None = None,
    tools_off: Collection[str] = (),
) -> tuple[RunExtension[Any], ...]:
    """Return the extensions of a run, in the order in which they are called.

    Args:
        setup: of the run, so far.
        run_input: the client's; None for a run whose caller keeps the history.
        client_tools: those that the caller runs.
        asked: how the program that begins the run wants it to be answered; None for any other.
        test: of a prompt; None for any other run.
        tools_off: the names of tools that are off in the conversation.
    """
    found: list[RunExtension[Any]] = [CitedPassages()]
    if setup.answering.fallback is not None:
        found.append(FallbackModels(setup.answering.fallback))
    for annotation, make in FIRST_EXTENSIONS.items():
        if getattr(assistant, annotation):
            found += import_string(make)(key, assistant, setup)
    if client_tools:
        found.append(ClientTools(client_tools))
    if tools_off:
        found.append(ConversationSwitch(tools_off))
    schema = (run_input.options.output_schema if run_input is not None else None) or setup.settings.answer_schema
    if asked is not None and (asked.options or asked.tool_choice or asked.response_format):
        found.append(CallerRequest(asked, has_type=bool(schema)))
    if schema:
        found.append(TypedAnswers(schema))
    is_members = run_input is not None and run_input.asked is None and not run_input.is_unattended and test is None
    if not is_members or [entry for entry in setup.tools if entry.tool.waits]:
        found += _of_calls(key, assistant, setup, run_input, test)
    if test is not None:
        found.append(test.extension)
    if run_input is not None:
        if run_input.history.has_instructions or run_input.client_tools or run_input.page:
            found += _of_client(run_input, assistant)
        if run_input.options.added:
            found += extensions_of_options(run_input.options.added, key=key, assistant=assistant, tools=setup.tools)
        most = setup.settings.history_tokens
        if test is None and most and sum(map(estimate, setup.history)) > most * SUMMARISE_ABOVE - ADDED_BY_RUN:
            found.append(Summaries())
    if assistant.extensions or assistant.tenant.extensions or settings.DEBUG:
        of_member = run_input is not None and test is None
        found += added_extensions(key=key, assistant=assistant, tools=setup.tools, of_member=of_member)
    return tuple(found)


def _of_calls(
    key: RunKey, assistant: Assistant, setup: RunSetup, run_input: RunInput | None, test: TestedRun | None
) -> Iterator[RunExtension[Any]]:
    """Yield what its tool calls need.

    A run may end with calls whose results come later only if it can go on by itself then. It may not if the caller
    narrows the tools: the run that continues has no caller, and would have all of them.
    """
    if run_input is None:
        yield Unattended(NOBODY)
        return
    is_program = run_input.asked is not None
    if run_input.is_unattended or is_program or test is not None:
        can_ask = not run_input.is_unattended
        has_forms = not is_program
        midway = can_ask and has_forms and (test is None or test.has_person)
        seconds = APPROVAL_LIFETIME.total_seconds()
        yield Unattended(Questions(can_ask=can_ask, has_forms=has_forms, midway=midway, seconds=seconds))
        return
    is_narrowed = run_input.options.output_schema or run_input.options.allowed_tools is not None
    if not is_narrowed and [one for one in setup.tools if one.tool.waits]:
        yield from later_results().extensions(key=key, tenant=assistant.tenant.slug)


def _of_client(run_input: RunInput, assistant: Assistant) -> Iterator[RunExtension[Any]]:
    """Yield what the client's page, its tools and its instructions need."""
    yield from ignored_input(run_input, assistant)
    if run_input.page is not None and run_input.page.state:
        yield PageState(run_input.page.state)

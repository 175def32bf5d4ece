"""Tests of prompts: who may try a version that is not published, and what answers the tool calls of such a run."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth import get_user_model
from django.utils.translation import gettext as _

from assistant.models import PromptVersion, Run, Tenant
from assistant.models.conversations import ToolsInTests
from assistant.services.assistants.configuration import use_version
from assistant.services.errors import Refused
from assistant.services.runs.extensions.tool_answers import ToolAnswers
from assistant.services.runs.input.forwarded_props import PromptTest
from assistant.services.runs.opening.opening_query import OpeningState
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.permissions import permissions_in

PERMISSION = "prompts"


class TestingForbidden(Refused):
    """The caller may not test prompts."""

    def __init__(self) -> None:
        super().__init__("test_forbidden", _("Only those who may write this organisation's prompts may test them."))


@dataclass(frozen=True, slots=True)
class Tested:
    """A run that tests a prompt: how tools are answered in its conversation, of `ToolsInTests`, and in the run."""

    tools: str
    answers: ToolAnswers


def tested_prompt(*, member: Member, state: OpeningState, wanted: PromptTest | None) -> Tested | None:
    """Return how a run of a test goes on or begins; None for any other run.

    The state's assistant gets the prompt that is tested. A test conversation stays one: a run in it that names no
    version, such as the answer to an approval, uses that of the run before, and tools are answered as in the first.

    Raises:
        Refused: `test_forbidden`, as `TestingForbidden`; `invalid_input` if the conversation is no test, or there is
            no such version.
    """
    conversation = state.conversation
    if conversation is not None and wanted is not None and not conversation.test_tools:
        raise Refused("invalid_input", _("This conversation is not a test. Begin a new one to test a prompt."))
    if wanted is None and (conversation is None or not conversation.test_tools):
        return None
    if not may_test(member=member):
        raise TestingForbidden
    tools = conversation.test_tools if conversation is not None else wanted.tools if wanted is not None else ""
    version_id = wanted.version if wanted is not None else None
    if version_id is None and conversation is not None:
        runs = Run.objects.filter(conversation=conversation, tenant_id=member.tenant_id).order_by("-number")
        version_id = runs.values_list("prompt_version_id", flat=True).first()
    choose_version(state=state, version_id=version_id)
    return Tested(tools, ToolAnswers(asks=tools == ToolsInTests.ASK, has_person=True))


def choose_version(*, state: OpeningState, version_id: int | None) -> None:
    """Let a run use a version of its assistant's prompt; None leaves the published one.

    Raises:
        Refused: `invalid_input` if the assistant has no such version.
    """
    if version_id is None:
        return
    own = PromptVersion.objects.filter(assistant=state.assistant, assistant__tenant_id=state.assistant.tenant_id)
    version = own.filter(pk=version_id).first()
    if version is None:
        raise Refused("invalid_input", _("This assistant has no such version of its prompt."))
    use_version(state.assistant, version)


def may_test(*, member: Member) -> bool:
    """Whether a member may test prompts: where that is on, in a session, with the permission to write them."""
    if not settings.ASSISTANT_PROMPT_TESTS or member.key_id is not None or member.assistant_id is not None:
        return False
    users = get_user_model()._base_manager.filter(pk=member.user_id, assistant_memberships__tenant=member.tenant_id)
    user = users.first()
    tenant = Tenant(pk=member.tenant_id)
    return user is not None and PERMISSION in permissions_in(actor=user, tenant=tenant)

"""Describes, for the page of a test chat, the version that is tested."""

from __future__ import annotations

from dataclasses import dataclass

from assistant.models import Conversation, PromptVersion, Run
from assistant.models.conversations import ToolsInTests
from assistant.services.runs.opening.tested_prompt import may_test
from assistant.services.tenancy.members import Member

# The keys in the session under which the control panel passes a question to a test chat, and the version that it was
# taken along for last: what is typed there afterwards may be made of it.
QUESTION_TO_TRY = "question_to_try"
TAKEN_FOR = "question_taken_for"
TESTER_TOOLS = (ToolsInTests.STUB, ToolsInTests.ASK)


@dataclass(frozen=True, slots=True)
class ShownTest:
    """A version that a member tests, loaded with its assistant, and how tools are answered, of `TESTER_TOOLS`."""

    version: PromptVersion
    tools: str

    @property
    def asks(self) -> bool:
        """Whether the tester is asked before a tool changes something."""
        return self.tools == ToolsInTests.ASK


def new_test(*, member: Member, version_id: int, tools: str) -> ShownTest | None:
    """Return the test of a version of an active assistant; None if there is none, or the member may not test it."""
    versions = PromptVersion.objects.filter(assistant__tenant_id=member.tenant_id, assistant__is_active=True)
    version = versions.filter(pk=version_id).select_related("assistant").first()
    if version is None or not may_test(member=member):
        return None
    return ShownTest(version, tools if tools in TESTER_TOOLS else ToolsInTests.STUB)


def shown_test(*, member: Member, conversation: Conversation) -> ShownTest | None:
    """Return what a conversation tests; None if it is no test, or its version was deleted."""
    if not conversation.test_tools:
        return None
    runs = Run.objects.filter(conversation=conversation, tenant_id=member.tenant_id).order_by("-number")
    version_id = runs.values_list("prompt_version_id", flat=True).first()
    return None if version_id is None else new_test(member=member, version_id=version_id, tools=conversation.test_tools)

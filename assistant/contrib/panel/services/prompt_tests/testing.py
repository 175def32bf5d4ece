"""Tests of prompts: who may try a version that is not published, and what answers the tool calls of such a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _

from assistant.contrib.panel.services.prompt_tests.shown_test import QUESTION_TO_TRY, TAKEN_FOR, ShownTest
from assistant.contrib.panel.services.prompt_tests.tool_answers import AnsweredTools, ToolAnswers
from assistant.models import Conversation, PromptVersion, Run, Tenant
from assistant.models.conversations import ToolsInTests
from assistant.services.errors import Refused
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.runs.prompt_tests import TESTED_VERSION, PromptTests, TestedRun
from assistant.services.runs.run_input import RunInput
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.permissions import permissions_in

PERMISSION = "prompts"
# The options beside `TESTED_VERSION`: how tools are answered, and whether the message is, or began as, a question of
# another conversation, and not the tester's own words.
TOOLS, TAKEN = "testTools", "takenQuestion"
TESTER_TOOLS = (ToolsInTests.STUB, ToolsInTests.ASK)
# Where a question came from that a tester has taken along from a conversation.
ANOTHERS_QUESTION = "a question of another conversation"


class ChatTests(PromptTests):
    """Tests prompts in chats of those who may write them."""

    def tested(
        self, *, member: Member, conversation: Conversation | None, given: RunInput
    ) -> tuple[RunInput, TestedRun]:
        """See `PromptTests`.

        A test conversation stays one: a run in it that names no version, such as the answer to an approval, uses that
        of the run before, and tools are answered as in the first.
        """
        options = given.options.added
        version_id = options.get(TESTED_VERSION)
        if conversation is not None and not conversation.test_tools:
            raise Refused("invalid_input", _("This conversation is not a test. Begin a new one to test a prompt."))
        if not may_test(member=member):
            return super().tested(member=member, conversation=conversation, given=given)
        if conversation is None:
            tools = options.get(TOOLS, ToolsInTests.STUB)
        else:
            tools = conversation.test_tools
            if version_id is None:
                version_id = _last_version(member, conversation)
        if given.message is not None and version_id is not None and options.get(TAKEN):
            given = replace(given, message=replace(given.message, sources=(ANOTHERS_QUESTION,)))
        answers = ToolAnswers(asks=tools == ToolsInTests.ASK, has_person=True)
        return given, TestedRun(tools, AnsweredTools(answers), version_id, has_person=True)

    def shown(self, *, member: Member, conversation: Conversation) -> ShownTest | None:
        """See `PromptTests`: what a conversation tests; None if its version was deleted."""
        version_id = _last_version(member, conversation)
        return None if version_id is None else new_test(member, version_id, conversation.test_tools)

    def begun(self, *, member: Member, request: HttpRequest) -> tuple[str, Mapping[str, Any]]:
        """See `PromptTests`.

        `?test=` names a version of a prompt, by its id; with `?tools=ask` the tester is asked before changes. The page
        has, at first, the question that was taken along, if any.
        """
        version = request.GET["test"]
        is_number = version.isascii() and version.isdigit() and len(version) < 19
        test = new_test(member, int(version), request.GET.get("tools", "")) if is_number else None
        if test is None:
            raise Http404
        question = request.session.pop(QUESTION_TO_TRY, "")
        return test.version.assistant.slug, {
            "test": test,
            "question": question if isinstance(question, str) else "",
            "is_taken": request.session.get(TAKEN_FOR) == test.version.pk,
        }


def _last_version(member: Member, conversation: Conversation) -> int | None:
    runs = Run.objects.filter(conversation=conversation, tenant_id=member.tenant_id).order_by("-number")
    return runs.values_list("prompt_version_id", flat=True).first()


def new_test(member: Member, version_id: int, tools: str) -> ShownTest | None:
    """Return the test of a version of an active assistant; None if there is none, or the member may not test it."""
    versions = PromptVersion.objects.filter(assistant__tenant_id=member.tenant_id, assistant__is_active=True)
    version = versions.filter(pk=version_id).select_related("assistant").first()
    if version is None or not may_test(member=member):
        return None
    return ShownTest(version, tools if tools in TESTER_TOOLS else ToolsInTests.STUB)


def may_test(*, member: Member) -> bool:
    """Whether a member may test prompts: where that is on, in a session, with the permission to write them."""
    if not settings.ASSISTANT_PROMPT_TESTS or member.key_id is not None or member.assistant_id is not None:
        return False
    users = get_user_model()._base_manager.filter(pk=member.user_id, assistant_memberships__tenant=member.tenant_id)
    user = users.first()
    tenant = Tenant(pk=member.tenant_id)
    return user is not None and PERMISSION in permissions_in(actor=user, tenant=tenant)


def parse_version(value: object) -> int:
    """Return the primary key of the version to test. Raises `Refused`."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**63:
        raise Refused("invalid_input", "forwardedProps.promptVersion must be the id of a version, a whole number.")
    return value


def parse_tools(value: object) -> str:
    """Return how tools are answered, of `TESTER_TOOLS`. Raises `Refused`."""
    if value not in TESTER_TOOLS:
        raise Refused("invalid_input", "forwardedProps.testTools must be stub or ask.")
    return str(value)


def parse_taken(value: object) -> bool:
    """Return whether the message is another's question. Raises `Refused`."""
    if not isinstance(value, bool):
        raise Refused("invalid_input", "forwardedProps.takenQuestion must be true or false.")
    return value


def no_extensions(*_whose: object) -> tuple[RunExtension[Any], ...]:
    """Return none: `ChatTests.tested` returns that of a test."""
    return ()

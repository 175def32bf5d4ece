"""Tries a prompt beside its editor as a member of the operator's choice: one question, answered as in an evaluation.

The run is a test in the member's name, with what the member may do. Tools that change something are not run, and the
conversation is deleted when it has ended: the member sees neither question nor answer. It counts in their limits and
usage. The audit keeps who asked as whom.
"""

from __future__ import annotations

import json
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib.auth import get_user_model
from django.http import Http404, HttpRequest, JsonResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from assistant.admin.base.visible_tenants import is_operator
from assistant.contrib.evaluations.services.evaluations.replayed_run import ReplayedRun, Spoken, ToolAnswers, replay
from assistant.contrib.panel.admin.assistants.prompt_editor import find_assistant
from assistant.models import Assistant, Membership, PromptVersion
from assistant.services.errors import Refused
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.members import Member, find_member

URL_NAME = "try_as"
ACTION = "prompt.try_as"
# Messages of one try, its questions and answers, and characters of each.
MAX_MESSAGES = 20
MAX_TEXT = 20_000
# How long an answer may take.
MAX_SECONDS = 120.0


@require_POST
def try_as_view(request: HttpRequest, assistant: int) -> JsonResponse:
    """Answer the last of `said` with the prompt `version` as the member `user`; what is wrong is `problem`, status 400.

    Raises:
        Http404: the user is no operator, tests are off, or there is no such assistant or version.
    """
    if not is_operator(request) or not settings.ASSISTANT_PROMPT_TESTS:
        raise Http404("There is no such page.")
    found = find_assistant(request, assistant)
    number = request.POST.get("version", "")
    is_number = number.isascii() and number.isdigit() and len(number) < 19
    version = found.prompt_versions.filter(pk=int(number)).first() if is_number else None
    if version is None:
        raise Http404("There is no such version.")
    member = _member(found, request.POST.get("user", ""))
    said = _read_said(request.POST.get("said", ""))
    if member is None:
        return JsonResponse({"problem": _("Choose a member of this tenant.")}, status=400)
    if not said:
        return JsonResponse({"problem": _("Ask something.")}, status=400)
    _record(request, found, version, member)
    try:
        outcome = async_to_sync(replay)(
            member=member,
            assistant_slug=found.slug,
            messages=said,
            answers=ToolAnswers(),
            prompt_version_id=version.pk,
            seconds=MAX_SECONDS,
        )
    except Refused as exc:
        return JsonResponse({"problem": str(exc)}, status=400)
    return JsonResponse(_shown(outcome))


def _member(assistant: Assistant, name: str) -> Member | None:
    """Return the member of the assistant's tenant that has a user name; no end user."""
    field = f"user__{get_user_model().USERNAME_FIELD}"
    rows = Membership.objects.filter(tenant=assistant.tenant_id, **{field: name.replace("\x00", "").strip()[:200]})
    user_id = rows.values_list("user_id", flat=True).first()
    return None if user_id is None else find_member(user_id=user_id, tenant_slug=assistant.tenant.slug)


def _read_said(text: str) -> list[Spoken]:
    """Return what was said, a question first and last; empty if it is no such list."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return []
    is_list = isinstance(given, list) and 0 < len(given) <= MAX_MESSAGES and len(given) % 2 == 1
    if not is_list or not all(isinstance(one, str) and one.strip() and len(one) <= MAX_TEXT for one in given):
        return []
    return [Spoken("assistant" if place % 2 else "user", one) for place, one in enumerate(given)]


def _record(request: HttpRequest, assistant: Assistant, version: PromptVersion, member: Member) -> None:
    audit_trail.record(
        actor=request.user,
        action=ACTION,
        target=f"{assistant.slug} v{version.number}",
        tenant=assistant.tenant,
        details={"as": member.user.username},
    )


def _shown(outcome: ReplayedRun) -> dict[str, Any]:
    ways = {"called": _("called"), "stubbed": _("not run"), "recorded": _("recorded result")}
    return {
        "answer": outcome.answer,
        "error": outcome.error,
        "calls": [{"name": call.name, "how": ways.get(call.answered or "", _("refused"))} for call in outcome.calls],
        "seconds": round(outcome.seconds, 1),
        "tokens": outcome.input_tokens + outcome.output_tokens,
    }

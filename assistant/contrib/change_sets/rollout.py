"""The changes of sets that are given to a share of conversations, in the runs of these conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.db.models import Q

from assistant.contrib.change_sets.models import AppliedChange
from assistant.contrib.change_sets.services.items import PROMPT, SETTING, SWITCH
from assistant.contrib.change_sets.shares import changes_of_shares, in_share
from assistant.core.turn.plan import Plan
from assistant.models import Assistant, PromptVersion, Run
from assistant.services.assistants.configuration import prompt_of, use_version
from assistant.services.assistants.prompt_values import PromptValues
from assistant.services.assistants.provider_choice import ProviderChoice, choose_provider, model_of
from assistant.services.run_key import RunKey
from assistant.services.runs.extensions.conversation_switch import ConversationSwitch
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.runs.opening.run_setup import RunSetup
from assistant.services.toolcalls.interceptors import with_interceptors


@dataclass(frozen=True)
class ChangedPrompt(RunExtension[None]):
    """Has the model read another version of the prompt."""

    text: str

    def planned(self, plan: Plan) -> Plan:
        first, *others = plan.messages
        return replace(plan, messages=(replace(first, content=self.text), *others))


@dataclass(frozen=True)
class ChangedModel(RunExtension[None]):
    """Has another model answer, at its own prices."""

    choice: ProviderChoice

    def planned(self, plan: Plan) -> Plan:
        model = with_interceptors(model_of(self.choice), tenant=plan.context.tenant.slug)
        return replace(plan, model=model, settings=replace(plan.settings, prices=self.choice.prices))


class ChangedSwitches(ConversationSwitch):
    """Offers and runs none of the tools that are off in a share of the conversations."""


def rolled_out(key: RunKey, assistant: Assistant, setup: RunSetup) -> list[RunExtension[Any]]:
    """Return what the sets change whose share a conversation is in, the set that began last as the last word.

    Tests of prompts and models that somebody has chosen for one answer are left as they are. One query, and two for a
    prompt: its version, and the row of the run, which says what answered.
    """
    if key.is_test:
        return []
    own = Q(assistant=None) | Q(assistant=assistant.pk)
    rows = changes_of_shares().filter(own, tenant=key.tenant_id).order_by("pk")
    inside = [
        row
        for row in rows
        if in_share(change_set=row.change_set_id, conversation=key.conversation_id, percent=row.percent)
    ]
    found = _prompt(key, assistant, [row for row in inside if row.kind == PROMPT])
    found += _model(key, assistant, setup, [row for row in inside if row.kind == SETTING])
    if off := {row.name for row in inside if row.kind == SWITCH}:
        found.append(ChangedSwitches(off))
    return found


def _prompt(key: RunKey, assistant: Assistant, rows: Sequence[AppliedChange]) -> list[RunExtension[Any]]:
    if not rows:
        return []
    versions = PromptVersion.objects.filter(assistant=assistant.pk, assistant__tenant_id=key.tenant_id)
    version = versions.filter(pk=int(rows[-1].after or 0)).first()
    if version is None:
        return []
    use_version(assistant, version)
    _write_down(key, prompt_version=version)
    return [ChangedPrompt(prompt_of(assistant, partial(PromptValues, tenant=assistant.tenant, user_id=key.user_id)))]


def _model(
    key: RunKey, assistant: Assistant, setup: RunSetup, rows: Sequence[AppliedChange]
) -> list[RunExtension[Any]]:
    # Not where the run has another model for a reason of its own: the caller's choice, or the soft threshold.
    if not rows or setup.answering.replaced or setup.provider.model != choose_provider(assistant).model:
        return []
    assistant.model = str(rows[-1].after)
    choice = choose_provider(assistant)
    _write_down(key, model=choice.model)
    return [ChangedModel(choice)]


def _write_down(key: RunKey, **values: Any) -> None:
    """Have the row of a run say what answers, so that it is counted by that."""
    Run.objects.filter(pk=key.pk, tenant_id=key.tenant_id).update(**values)

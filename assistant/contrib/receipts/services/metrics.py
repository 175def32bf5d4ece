"""Prometheus series of what answers say without a source: by assistant, version of the prompt, model and tool."""

from __future__ import annotations

from collections.abc import Iterator

from assistant.contrib.receipts.models import Receipt
from assistant.services.metrics import BoundedLabel, Series
from assistant.services.run_key import RunKey

# Values of a label that have a series each; the others share one. By each kind apart, so that they do not multiply.
MAX_SERIES = 200
_LABELS = ("by", "name")
_known = {by: BoundedLabel(MAX_SERIES) for by in ("assistant", "prompt", "model", "tool")}

_values = Series("assistant_answers_values", "Values of answers that were looked for in what was looked up.", _LABELS)
_unsupported = Series("assistant_answers_unsupported", "Values of answers that no source has.", _LABELS)
_actions = Series("assistant_actions_unsupported", "Claimed actions that no call has done.", _LABELS)
_not_checked = Series("assistant_answers_not_checked", "Answers that were not checked in time.", _LABELS)


def count_receipt(*, key: RunKey) -> None:
    """Count the receipt of a run whose end is stored, if it has one. Tests of prompts are not counted."""
    rows = Receipt.objects.filter(run_id=key.pk, tenant_id=key.tenant_id, run__is_test=False)
    receipt = rows.select_related("tenant", "run__assistant", "run__prompt_version").first()
    if receipt is None:
        return
    for by, name in _names(receipt):
        labels = (by, _known[by](name))
        _values.add(*labels, amount=receipt.values)
        _unsupported.add(*labels, amount=receipt.unsupported)
        _actions.add(*labels, amount=receipt.unsupported_actions)
        _not_checked.add(*labels, amount=not receipt.is_checked)


def _names(receipt: Receipt) -> Iterator[tuple[str, str]]:
    run = receipt.run
    assistant = f"{receipt.tenant.slug}/{run.assistant.slug}"
    yield "assistant", assistant
    if run.prompt_version is not None:
        yield "prompt", f"{assistant}/{run.prompt_version.number}"
    yield "model", run.fallback_model or run.model
    for tool in receipt.tools:
        yield "tool", tool

"""Change sets in words: what they change, whom they are given to, and what holds now."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.text import Truncator
from django.utils.translation import gettext as _

from assistant.admin.base.names import label_of, state_word
from assistant.contrib.change_sets.models import ChangeSet
from assistant.contrib.change_sets.services.items import PROMPT, SWITCH, Item, model_of
from assistant.contrib.change_sets.services.places import Place, state_from
from assistant.models.tool_settings import FOLLOW


def sentence_of(item: Item) -> str:
    """Return a change, such as "support: model: gpt-5"."""
    where = item.assistant or _("the tenant")
    if item.kind == PROMPT:
        text = Truncator(" ".join(item.value.split())).chars(90)
        return _("%(where)s: prompt: “%(text)s”") % {"where": where, "text": text}
    if item.kind == SWITCH:
        return f"{where}: {item.name}: {_policy(item.value)}"
    return f"{where}: {label_of(model_of(item.kind), item.name)}: {item.value or _('empty')}"


def audience_of(change_set: ChangeSet) -> str:
    """Return whom a set is given to."""
    if change_set.whom == ChangeSet.Whom.ALL:
        return _("every tenant")
    if change_set.whom == ChangeSet.Whom.LABEL:
        return _("tenants with the label “%(label)s”") % {"label": change_set.label}
    return str(change_set.tenant or "—")


def shown_now(place: Place, numbers: Mapping[int, int]) -> str:
    """Return what holds at a place now.

    Args:
        numbers: of the prompt versions, by their primary keys.
    """
    if place.item.kind == PROMPT:
        number = numbers.get(place.now)
        return _("no prompt") if number is None else _("version %(number)d") % {"number": number}
    if place.item.kind == SWITCH and place.now is not None:
        return _policy(state_from(place.now).word)
    return _("empty") if place.now in (None, "") else str(place.now)


def shown_then(item: Item) -> str:
    """Return what a change will set."""
    if item.kind == PROMPT:
        return _("a new version")
    return _policy(item.value) if item.kind == SWITCH else item.value or _("empty")


def _policy(policy: str) -> str:
    return _("follows the rest") if policy == FOLLOW else state_word(policy)

"""The changes that a set holds: how they are stored and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Field
from django.utils.translation import gettext as _

from assistant.contrib.change_sets.models import EVERYTHING, ChangeSet
from assistant.models import Assistant, TenantLimits
from assistant.models.limits import OF_END_USER, OF_MEMBER, OF_TENANT
from assistant.models.tool_settings import FOLLOW
from assistant.services.assistants.configuration import LIMIT_COLUMNS
from assistant.services.toolpolicy.blocks import knows_tool_anywhere
from assistant.services.toolpolicy.switch_changes import POLICIES

PROMPT = "prompt"
SWITCH = "switch"
SETTING = "setting"
LIMIT = "limit"
KINDS = (PROMPT, SWITCH, SETTING, LIMIT)
# Changes of one set, and characters of a prompt.
MAX_ITEMS = 20
MAX_TEXT = 50_000
# The columns of an assistant, and of a tenant's limits, that a set can change.
SETTINGS = ("model", "fallback_model", "temperature", *LIMIT_COLUMNS.values(), "history_tokens", "history_messages")
LIMITS = (*OF_TENANT, *OF_MEMBER, *OF_END_USER)


class ChangeSetRefused(ValueError):
    """A change set cannot do this; people read the sentence."""


@dataclass(frozen=True, slots=True)
class Item:
    """One change of a set, for each tenant that the set is given to.

    Attributes:
        kind: one of `KINDS`.
        assistant: the slug of the assistant whose prompt, setting or switch it is; "" for a tenant's switch or limit.
        name: of the tool, of the column of an assistant or of a limit; "" for a prompt.
        value: the prompt's text, the policy of a switch, or the value of the column as text; "" for an empty one.
    """

    kind: str
    assistant: str
    name: str
    value: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What is changed: a set changes each thing once."""
        return (self.kind, self.assistant, self.name)

    def stored(self) -> dict[str, str]:
        """Return the change as `ChangeSet.items` holds it."""
        return asdict(self)


def read_items(change_set: ChangeSet) -> list[Item]:
    """Return the changes of a set, in the order in which they were added."""
    return [Item(**one) for one in change_set.items]


def model_of(kind: str) -> type[Assistant] | type[TenantLimits]:
    """Return the model whose column a setting or a limit is."""
    return Assistant if kind == SETTING else TenantLimits


def column_value(item: Item) -> Any:
    """Return the value of a setting or a limit, as its column takes it. Raises `ChangeSetRefused`."""
    field: Field[Any, Any] = model_of(item.kind)._meta.get_field(item.name)  # type: ignore[assignment]
    given: str | None = item.value
    if given == "" and field.null:
        given = None
    try:
        return field.clean(given, None)
    except ValidationError as exc:
        raise ChangeSetRefused(" ".join(exc.messages)) from exc


def as_json(value: Any) -> Any:
    """Return the value of a column as JSON holds it."""
    return str(value) if isinstance(value, Decimal) else value


def checked_item(given: Mapping[str, str]) -> Item:
    """Return the change that a form describes by the names of `Item`.

    Raises:
        ChangeSetRefused: there is no such tool, column, policy or value, or a text is missing or too long.
    """
    item = Item(**{name: str(given.get(name, "")) for name in ("kind", "assistant", "name", "value")})
    if item.kind not in KINDS:
        raise ChangeSetRefused(_("There is no such kind of change."))
    if item.kind in (PROMPT, SETTING) and not item.assistant:
        raise ChangeSetRefused(_("Say of which assistant."))
    if item.kind == PROMPT and not item.value.strip():
        raise ChangeSetRefused(_("A prompt has a text."))
    if len(item.value) > MAX_TEXT or "\x00" in item.value:
        raise ChangeSetRefused(_("A text has at most %(most)d characters.") % {"most": MAX_TEXT})
    if item.kind == SWITCH:
        _check_switch(item)
    if item.kind in (SETTING, LIMIT):
        if item.name not in (SETTINGS if item.kind == SETTING else LIMITS):
            raise ChangeSetRefused(_("There is no such setting."))
        column_value(item)
    return item


def _check_switch(item: Item) -> None:
    if item.value not in (*POLICIES, FOLLOW):
        raise ChangeSetRefused(_("Choose how the tool is switched."))
    if not knows_tool_anywhere(item.name):
        raise ChangeSetRefused(_("This deployment has no tool “%(name)s”.") % {"name": item.name[:64]})


def check_items(items: Sequence[Item], *, percent: int) -> None:
    """Raise `ChangeSetRefused` unless a set that is given to `percent` of the conversations can have these changes."""
    if not items:
        raise ChangeSetRefused(_("The set has no changes yet."))
    if len(items) > MAX_ITEMS:
        raise ChangeSetRefused(_("A set has at most %(most)d changes.") % {"most": MAX_ITEMS})
    if len({item.key for item in items}) < len(items):
        raise ChangeSetRefused(_("A set changes each thing once."))
    if percent < EVERYTHING and any(not may_be_shared(item) for item in items):
        raise ChangeSetRefused(
            _("Prompts, models, and tools that are off can be given to a share of the conversations; the rest cannot.")
        )


def may_be_shared(item: Item) -> bool:
    """Whether some conversations of a tenant can have a change while others do not."""
    if item.kind == SWITCH:
        return item.value == "off"
    return item.kind == PROMPT or (item.kind == SETTING and item.name == "model" and item.value != "")

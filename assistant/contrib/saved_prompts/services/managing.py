"""Saved prompts that a member may use, and changes to those that a member may change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _

from assistant.contrib.saved_prompts.models import SavedPrompt, check_text
from assistant.core.values.prompt_template import names_in, resolve
from assistant.models import Membership, Tenant
from assistant.services.db.clock import DatabaseTime
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.audit_trail import Actor, actor_of
from assistant.services.tenancy.members import Member

# Of one person in a tenant, and of a tenant for everybody.
MAX_OWN, MAX_SHARED = 100, 500
# Characters of one variable's value.
MAX_VALUE = 4_000


class PromptRefused(ValueError):
    """A saved prompt cannot be stored or used so; people can read the message."""


class PromptConflict(PromptRefused):
    """It cannot be stored because of what is stored already: another of its name, or too many."""


class PromptForbidden(PromptRefused):
    """The member may not store such a prompt."""


def prompts_of(member: Member, *, search: str = "") -> QuerySet[SavedPrompt]:
    """Return what a member can use: their own and the tenant's, by name. `search` is part of a name or description."""
    if member.is_end_user:
        return SavedPrompt.objects.filter(tenant_id=member.tenant_id).none()
    found = SavedPrompt.objects.filter(tenant_id=member.tenant_id).filter(Q(user_id=member.user_id) | Q(user=None))
    for word in search.split():
        found = found.filter(Q(name__icontains=word) | Q(description__icontains=word))
    return found.order_by("name", "pk")


def may_change(member: Member, prompt: SavedPrompt) -> bool:
    """Return whether a member may change one that they can use: their own, or as an admin one of the tenant's."""
    return member.is_admin if prompt.user_id is None else prompt.user_id == member.user_id


def variables_of(prompt: SavedPrompt) -> list[str]:
    """Return the names of a prompt's variables, in their order."""
    return names_in(prompt.text)


@transaction.atomic
def make_prompt(*, member: Member, values: Mapping[str, Any], is_shared: bool) -> SavedPrompt:
    """Store a new prompt of a member, or of their tenant.

    Args:
        values: `name`, `text` and `description`, of lengths that the model allows.

    Raises:
        PromptForbidden: the member may not.
        PromptRefused: there are too many, the name is taken, or the text has wrong variables.
    """
    if member.is_end_user or (is_shared and not member.is_admin):
        raise PromptForbidden(_("Only an admin of the tenant saves prompts for everybody."))
    rows = SavedPrompt.objects.filter(tenant_id=member.tenant_id)
    rows = rows.filter(user=None) if is_shared else rows.filter(user_id=member.user_id)
    if rows.count() >= (MAX_SHARED if is_shared else MAX_OWN):
        raise PromptConflict(_("There are too many saved prompts. Delete some first."))
    row = SavedPrompt(tenant_id=member.tenant_id, user_id=None if is_shared else member.user_id)
    _store(row, values)
    _record(member, "savedprompt.add", row)
    return row


@transaction.atomic
def change_prompt(*, member: Member, prompt: SavedPrompt, values: Mapping[str, Any]) -> None:
    """Change a prompt that the member may change. Raises `PromptRefused` as `make_prompt` does."""
    _store(prompt, values)
    _record(member, "savedprompt.change", prompt)


@transaction.atomic
def delete_prompt(*, member: Member, prompt: SavedPrompt) -> None:
    """Delete a prompt that the member may change."""
    _record(member, "savedprompt.delete", prompt)
    prompt.delete()


def use_prompt(*, prompt: SavedPrompt, values: Mapping[str, str]) -> str:
    """Return a prompt's text with the values of its variables, and count the use.

    Raises:
        PromptRefused: a variable has no value, or a value no variable.
    """
    names = variables_of(prompt)
    missing = [name for name in names if not values.get(name, "").strip()]
    if missing:
        raise PromptRefused(_("Values are missing: %(names)s.") % {"names": ", ".join(missing)})
    if unknown := sorted(set(values) - set(names)):
        raise PromptRefused(_("There are no such variables: %(names)s.") % {"names": ", ".join(unknown)})
    rows = SavedPrompt.objects.filter(pk=prompt.pk, tenant_id=prompt.tenant_id)
    rows.update(uses=F("uses") + 1, last_used_at=DatabaseTime())
    return resolve(prompt.text, values.__getitem__, users={})


def delete_of_leaving(*, actor: Actor, memberships: QuerySet[Membership]) -> None:
    """Delete what these members have saved for themselves in the tenants that they leave."""
    for tenant_id, user_id in memberships.values_list("tenant_id", "user_id"):
        SavedPrompt.objects.filter(tenant_id=tenant_id, user_id=user_id).delete()


def _store(row: SavedPrompt, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(row, name, value.strip())
    if not row.name or not row.text:
        raise PromptRefused(_("A saved prompt needs a name and a text."))
    try:
        check_text(row.text)
        with transaction.atomic():
            row.save()
    except ValidationError as exc:
        raise PromptRefused(exc.messages[0]) from exc
    except IntegrityError as exc:
        raise PromptConflict(_("There is a saved prompt with this name.")) from exc


def _record(member: Member, action: str, prompt: SavedPrompt) -> None:
    """Record who did what; a person's own names and texts are nobody else's to read."""
    audit_trail.record(
        actor=actor_of(member),
        action=action,
        target=prompt.name if prompt.user_id is None else _("A prompt of one's own"),
        tenant=Tenant.objects.get(pk=member.tenant_id),
        details={"id": prompt.pk},
    )

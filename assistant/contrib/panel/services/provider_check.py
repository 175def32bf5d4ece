"""Asks providers whether they work, and which models they have."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from threading import Lock

from asgiref.sync import async_to_sync
from cachetools import TTLCache
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from assistant.contrib.panel.services.provider_probe import ProbeFailed, Server, list_models, try_model
from assistant.models import Assistant, Provider
from assistant.providers.given_settings import address_of, key_of
from assistant.services.assistants.provider_choice import ProviderChoice, choose_provider, problem_of
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.url_guard import tenant_guard

# The models that a server lists, or why it lists none.
_Listing = tuple[str, ...] | ProbeFailed

# A person waits for the answer, and a thread with them.
SECONDS = 10.0
# Lists of models are kept this long, so that a form asks a provider once; at most so many of them.
KEPT_SECONDS = 300.0
MAX_KEPT = 256


@dataclass(frozen=True, slots=True)
class Check:
    """What a provider answered: a sentence for those who configure it, and its models if it lists them."""

    is_good: bool
    sentence: str
    models: tuple[str, ...] = ()


def default_choice_of(provider: Provider, *, api_key: str | None = None) -> ProviderChoice:
    """Return a provider as runs choose it, with its default model; `api_key` in place of the stored one."""
    return ProviderChoice(
        source="tenant" if provider.tenant_id is not None else "deployment",
        name=provider.name,
        model=provider.default_model,
        base_url=provider.base_url,
        wire_format=provider.wire_format,
        api_key=provider.api_key if api_key is None else api_key,
        is_guarded=provider.tenant_id is not None,
    )


def check_choice(choice: ProviderChoice) -> Check:
    """Ask for the list of models and for the first words of an answer, both at once, within `SECONDS`.

    A server may have no list; what counts is the answer. The requests wait on the event loop, not in this thread.
    """
    if choice.source == "stand-in":
        return Check(False, _("No language model is configured: a stand-in answers."))
    if problem := problem_of(choice):
        return Check(False, problem)
    return async_to_sync(_check)(choice)


def check_assistant(*, assistant: Assistant) -> Check:
    """Ask the provider and model that an assistant answers with."""
    return check_choice(choose_provider(assistant))


def models_of(choice: ProviderChoice) -> Check:
    """Return the models that a provider lists, asked at most once in `KEPT_SECONDS`."""
    if choice.source in ("stand-in", "embedded"):
        return Check(False, _("The model on this machine is the only one."))
    if problem := problem_of(choice):
        return Check(False, problem)
    origin = f"{choice.wire_format}\n{choice.base_url}\n{choice.api_key}\n{choice.is_guarded}"
    key = hashlib.sha256(origin.encode()).hexdigest()
    with _lock:
        kept = _lists.get(key)
    if kept is None:
        kept = async_to_sync(_listing)(choice)
        with _lock:
            _lists[key] = kept
    return _check_of(kept, choice)


# What servers answered, without what each tenant calls its provider.
_lists: TTLCache[str, _Listing] = TTLCache(MAX_KEPT, KEPT_SECONDS)
_lock = Lock()


def check_provider(*, provider: Provider, actor: audit_trail.Actor) -> Check:
    """Ask a provider, and put it into use if it answers as it is stored."""
    found = check_choice(default_choice_of(provider))
    if found.is_good:
        put_into_use(provider=provider, actor=actor, is_tested=True)
    return found


@transaction.atomic
def put_into_use(*, provider: Provider, actor: audit_trail.Actor, is_tested: bool = False) -> bool:
    """Let a tenant's provider answer for assistants for which none is chosen. Returns whether it did not before.

    Args:
        is_tested: it has answered a test, at this address and with this model; else nothing is done if they changed.
    """
    rows = Provider.objects.filter(pk=provider.pk, tenant=provider.tenant_id, is_untested=True)
    if is_tested:
        rows = rows.filter(base_url=provider.base_url, default_model=provider.default_model)
    if not rows.update(is_untested=False):
        return False
    details = {"tested": is_tested}
    audit_trail.record(
        actor=actor, action="provider.use", target=provider.name, tenant=provider.tenant, details=details
    )
    return True


def _server(choice: ProviderChoice) -> Server:
    guard = tenant_guard() if choice.is_guarded else None
    return Server(address_of(choice.base_url, "base_url"), key_of(choice.api_key, "api_key"), guard)


async def _listing(choice: ProviderChoice) -> _Listing:
    try:
        return await list_models(_server(choice), wire_format=choice.wire_format, seconds=SECONDS)
    except ProbeFailed as exc:
        return exc


def _check_of(listing: _Listing, choice: ProviderChoice) -> Check:
    if isinstance(listing, ProbeFailed):
        return Check(False, _("%(name)s lists no models: %(reason)s") % {"name": choice.name, "reason": listing})
    return Check(True, _listed(listing), listing)


async def _check(choice: ProviderChoice) -> Check:
    answer, listing = await asyncio.gather(
        try_model(_server(choice), choice.model, wire_format=choice.wire_format, seconds=SECONDS),
        _listing(choice),
        return_exceptions=True,
    )
    models = listing if isinstance(listing, tuple) else ()
    words = {"name": choice.name, "model": choice.model, "reason": answer}
    if isinstance(answer, ProbeFailed):
        sentence = _("%(name)s did not answer with the model %(model)s: %(reason)s") % words
        return Check(False, f"{sentence} {_listed(models)}" if models else sentence, models)
    if isinstance(answer, BaseException):
        raise answer
    sentence = _("%(name)s answers with the model %(model)s.") % words
    return Check(True, f"{sentence} {_listed(models)}" if models else sentence, models)


def _listed(models: tuple[str, ...]) -> str:
    count = len(models)
    return ngettext("It lists %(count)d model.", "It lists %(count)d models.", count) % {"count": count}

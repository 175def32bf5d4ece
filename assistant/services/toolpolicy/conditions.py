"""What tools say to a member now about being offered, for people who look at a list of tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from asgiref.sync import async_to_sync
from django.utils.translation import gettext as _

from assistant.services.tenancy.members import Member
from assistant.services.toolpolicy.policy import EffectiveTool
from assistant.toolkit import ToolContext
from assistant.toolkit.calls.gate import Answer
from assistant.toolkit.definition.conditions import Offer, offers_of


def answers_of_tools(entries: Iterable[EffectiveTool], context: ToolContext) -> Mapping[str, Offer]:
    """Ask the tools that are not off and have conditions. Returns their answers by the tools' names."""
    asked = [entry.tool for entry in entries if entry.policy != "off" and entry.tool.has_conditions]
    return {offer.tool.name: offer for offer in async_to_sync(offers_of)(asked, context)} if asked else {}


def as_offered(entries: Iterable[EffectiveTool], *, member: Member, assistant_slug: str = "") -> list[EffectiveTool]:
    """Return the entries, with those that their tools do not offer to the member now off, by a rule that says why."""
    entries = list(entries)
    context = ToolContext(tenant=member.tenant, user=member.user, assistant=assistant_slug, extra=member.extra)
    offers = answers_of_tools(entries, context)
    hidden = {name: told(offer) for name, offer in offers.items() if offer.offered is None}
    return [
        replace(entry, policy="off", rule=hidden[entry.tool.name]) if entry.tool.name in hidden else entry
        for entry in entries
    ]


def told(offer: Offer) -> str:
    """Return what a tool's functions said, each with its time, as a sentence; empty for a tool without conditions."""
    if offer.missing:
        return _("Hidden: the context has no “%(key)s”.") % {"key": offer.missing}
    sentences = " ".join(map(_sentence, offer.answers))
    return _("Hidden: %(answers)s") % {"answers": sentences} if offer.offered is None else sentences


def _sentence(answer: Answer) -> str:
    values = {"function": answer.asked.function_name, "ms": round(answer.seconds * 1000), "problem": answer.problem}
    if answer.problem:
        return _("“%(function)s” gave no answer: it %(problem)s.") % values
    if answer.asked.option == "describe":
        return _("“%(function)s” described it, %(ms)s ms.") % values
    if answer.is_yes:
        return _("“%(function)s” said yes, %(ms)s ms.") % values
    return _("“%(function)s” said no, %(ms)s ms.") % values

"""Who is told what of how an answer came about: one table for the chat, the widget, the APIs and docs/chat.md."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from assistant.services.tenancy.brands import BrandValues
from assistant.services.tenancy.members import Member


class Audience(StrEnum):
    """Who reads. Operators read in the admin, where all of it stands."""

    VISITOR = "visitor"
    MEMBER = "member"
    ADMIN = "admin"
    OPERATOR = "operator"


class Fact(StrEnum):
    """What can be told of an answer besides itself."""

    TOOLS = "tools"
    SOURCES = "sources"
    ERROR_ID = "error_id"
    MODEL = "model"
    FAILURE = "failure"


_ALL = frozenset(Audience)
_MEMBERS = frozenset({Audience.MEMBER, Audience.ADMIN, Audience.OPERATOR})
_ADMINS = frozenset({Audience.ADMIN, Audience.OPERATOR})

TOLD: Mapping[Fact, frozenset[Audience]] = MappingProxyType(
    {
        Fact.TOOLS: _ALL,
        Fact.SOURCES: _ALL,
        Fact.ERROR_ID: _MEMBERS,
        # A tenant may show it to its members: the brand's *shows who answers*.
        Fact.MODEL: _ADMINS,
        Fact.FAILURE: _ADMINS,
    }
)


def audience_of(member: Member) -> Audience:
    """Return as what a caller reads a tenant's conversations."""
    if member.is_end_user:
        return Audience.VISITOR
    return Audience.ADMIN if member.is_admin else Audience.MEMBER


def is_told(member: Member, fact: Fact, *, brand: BrandValues) -> bool:
    """Return whether a caller is told a fact of the answers that they may read. `brand` is their tenant's."""
    audience = audience_of(member)
    if audience in TOLD[fact]:
        return True
    return fact is Fact.MODEL and audience is Audience.MEMBER and brand.shows_model

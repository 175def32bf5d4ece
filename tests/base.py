"""The users and tenants of the tests: Acme and its competitor Globex, their members, and an outsider."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User

from assistant.models import Assistant, Membership, Tenant
from tests.factories import make_assistant, make_member, make_tenant, make_user

# The password of every user, so that a browser can sign in as any of them.
PASSWORD = "correct-horse-battery-staple"


@dataclass(frozen=True)
class Cast:
    """Alice works for Acme, whose admin is Amy; Mallory for Globex, whose admin is Greta; Oscar for nobody."""

    acme: Tenant
    alice: User
    amy: User
    support: Assistant
    globex: Tenant
    mallory: User
    greta: User
    rival_support: Assistant
    oscar: User
    root: User


def make_cast() -> Cast:
    """Create both tenants, each with an assistant "support", a member and an admin; the outsider and a superuser."""
    acme = make_tenant("acme", name="Acme", timezone="Europe/Vienna")
    globex = make_tenant("globex", name="Globex", timezone="America/New_York")
    return Cast(
        acme=acme,
        alice=make_member(acme, "alice", password=PASSWORD),
        amy=make_member(acme, "amy", role=Membership.Role.ADMIN, password=PASSWORD),
        support=make_assistant(acme, "support", prompt="You are Acme's support assistant."),
        globex=globex,
        mallory=make_member(globex, "mallory", password=PASSWORD),
        greta=make_member(globex, "greta", role=Membership.Role.ADMIN, password=PASSWORD),
        rival_support=make_assistant(globex, "support", prompt="You are Globex's support assistant."),
        oscar=make_user("oscar", password=PASSWORD),
        root=make_user("root", password=PASSWORD, is_superuser=True, is_staff=True),
    )

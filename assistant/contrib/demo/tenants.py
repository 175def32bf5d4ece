"""Loads the demo's two tenants: Acme sells mountain gear, Globex sells instruments; both have a customer 42.

Their customers, orders and documents are a project's own: those of its apps that have a module `assistant_demo`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.db.models import Model
from django.utils.module_loading import module_has_submodule

from assistant.models import Assistant, Document, Membership, PromptVersion, Tenant, ToolSetting
from assistant.services.assistants.prompts import draft_prompt, publish_prompt
from assistant.services.knowledge.documents import add_document
from assistant.services.tenancy.memberships import add_member, find_user
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.switch_changes import set_switch


@dataclass(frozen=True, slots=True)
class DemoAssistant:
    """An assistant and its prompt; `without` names the tools that are off for it."""

    slug: str
    name: str
    description: str
    prompt: str
    starters: tuple[str, ...]
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DemoTenant:
    """A tenant with its people (username and role), its assistants, and the tools that need approval."""

    slug: str
    name: str
    timezone: str
    people: tuple[tuple[str, str], ...]
    assistants: tuple[DemoAssistant, ...]
    asking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SignIn:
    """A user who can sign in at the demo."""

    username: str
    password: str
    who: str


class Shop(Protocol):
    """A module `assistant_demo`: what a project's app has of the two tenants.

    Attributes:
        FIXTURES: a folder, which has one for each tenant, with Markdown and text files for its knowledge base.
    """

    FIXTURES: Path

    def load_demo(self, acme_tenant: Model, globex_tenant: Model) -> None:
        """Create the rows of both tenants. Existing rows are not changed."""
        ...


ACME_SUPPORT = """\
You are the support assistant of Acme Outdoor, a shop for mountain gear in Vienna, Innsbruck and Linz. You help Acme's
own staff while a customer is on the phone, so be brief: the fact first, then one sentence on what to do next.

- Facts about customers, orders and times come from your tools, never from memory. Look a customer up before you speak
  of them, by their number or their name.
- Questions about refunds, returns, shipping, warranty, rental, payment or opening hours: search the documents, answer
  from what you find, and name the document as the source. If nothing fits, say so.
- Compute with the calculator. Prices are in euros.
- Before you change a customer's record, repeat what you are about to change.
- You know nothing of other companies' customers, and you do not guess.
"""

ACME_DESK = """\
You plan the day of the people at Acme Outdoor's front desk. You set and cancel alarms, tell times here and elsewhere,
look at the weather in the mountains, and do sums. You cannot see customers or orders; for those, send people to the
support assistant.

Say times with the day and the zone.
"""

GLOBEX_SUPPORT = """\
You are the support assistant of Globex Instruments, Pittsburgh, maker of flow meters, transmitters and gas analyzers.
You work beside field engineers: precise, dry, in whole sentences, with units.

- Customers and orders are looked up with your tools, every time; a customer number is not a name to be guessed.
- Policy questions (refunds and RMA, warranty, calibration, freight, payment terms, safety) are answered from the
  documents, with the document's title as the source. Never quote a term that is not written there.
- Compute with the calculator. Prices are in US dollars.
- Safety notes go before convenience: if a document warns, repeat the warning.
- You cannot change records; say who can: the account team.
"""

GLOBEX_FIELD = """\
You accompany Globex's field engineers. You find orders and their contents, search manuals and safety notes, convert
times between sites, and check the weather before outdoor work. Keep to three sentences: they are read on a phone
with gloves on.
"""

TENANTS = (
    DemoTenant(
        slug="acme",
        name="Acme",
        timezone="Europe/Vienna",
        people=(("alice", Membership.Role.MEMBER), ("amy", Membership.Role.ADMIN)),
        assistants=(
            DemoAssistant(
                slug="support",
                name="Support",
                description="Knows customers, orders and how things are done at Acme Outdoor.",
                prompt=ACME_SUPPORT,
                starters=(
                    "Tell me about customer 42",
                    "How do I get a refund?",
                    "What is 12.5% of 840?",
                    "Which orders are open?",
                ),
                without=("get_weather",),
            ),
            DemoAssistant(
                slug="front-desk",
                name="Front desk",
                description="Alarms, times, weather and sums; sees no customers.",
                prompt=ACME_DESK,
                starters=("What time is it?", "Set an alarm in ten minutes", "What is the weather in Innsbruck?"),
                without=("find_customers", "get_customer", "update_customer", "find_orders", "get_order"),
            ),
        ),
        asking=("update_customer",),
    ),
    DemoTenant(
        slug="globex",
        name="Globex",
        timezone="America/New_York",
        people=(("mallory", Membership.Role.MEMBER), ("greta", Membership.Role.ADMIN)),
        assistants=(
            DemoAssistant(
                slug="support",
                name="Support",
                description="Customers, orders, policies and safety notes of Globex Instruments.",
                prompt=GLOBEX_SUPPORT,
                starters=(
                    "Tell me about customer 42",
                    "How do I get a refund?",
                    "What does a pressure calibration cost?",
                    "What time is it in Vienna?",
                ),
                without=("update_customer",),
            ),
            DemoAssistant(
                slug="field",
                name="Field service",
                description="For engineers on site: orders, manuals, times, weather.",
                prompt=GLOBEX_FIELD,
                starters=("What was in order 1042?", "What do I do before I open a gas analyzer?", "What time is it?"),
                without=("find_customers", "get_customer", "update_customer"),
            ),
        ),
    ),
)
OPERATOR = "admin"
NOT_EVALUATED = ("schedule_question", "list_schedules", "delete_scheduled_question", "search_collections")
_DOCUMENT_KINDS = {".md": Document.Kind.MARKDOWN, ".txt": Document.Kind.TEXT}


def password_of(username: str) -> str:
    """Return the public password of a demo user."""
    return f"demo-{username}-pass"


@transaction.atomic
def load_demo_tenants() -> list[SignIn]:
    """Create the demo's tenants, people, assistants and switches unless they exist. Returns who can sign in.

    Raises:
        ImproperlyConfigured: DEBUG is off; the demo's passwords are public.
    """
    if not settings.DEBUG:
        raise ImproperlyConfigured("The demo's passwords are public: it is loaded only where DEBUG is true.")
    sign_ins = []
    made: dict[str, Tenant] = {}
    for plan in TENANTS:
        tenant, is_new = Tenant.objects.get_or_create(
            slug=plan.slug,
            defaults={"name": plan.name, "timezone": plan.timezone},
        )
        made[plan.slug] = tenant
        for username, role in plan.people:
            _person(tenant, username, role)
            sign_ins.append(SignIn(username, password_of(username), f"{Membership.Role(role).label} of {plan.name}"))
        assistants = {wanted.slug: _assistant(tenant, wanted) for wanted in plan.assistants}
        if is_new:
            _switches(plan, tenant, assistants)
    for shop in shops():
        shop.load_demo(made["acme"], made["globex"])
        for tenant in made.values():
            load_demo_documents(tenant, shop.FIXTURES)
    if find_user(OPERATOR) is None:
        get_user_model()._default_manager.create_superuser(OPERATOR, password=password_of(OPERATOR))
    return [*sign_ins, SignIn(OPERATOR, password_of(OPERATOR), "Superuser")]


def shops() -> Iterator[Shop]:
    """Yield the modules of the project's apps that have rows for the demo."""
    for app in apps.get_app_configs():
        if app.module is not None and module_has_submodule(app.module, "assistant_demo"):
            yield cast(Shop, import_module(f"{app.name}.assistant_demo"))


def _person(tenant: Tenant, username: str, role: str) -> None:
    user = find_user(username)
    if user is None:
        add_member(tenant=tenant, username=username, role=role, password=password_of(username))
    elif not Membership.objects.filter(tenant=tenant, user=user).exists():
        add_member(tenant=tenant, username=username, role=role)


def _assistant(tenant: Tenant, wanted: DemoAssistant) -> Assistant:
    assistant, _ = Assistant.objects.get_or_create(
        tenant=tenant,
        slug=wanted.slug,
        defaults={"name": wanted.name, "description": wanted.description, "starters": list(wanted.starters)},
    )
    if not PromptVersion.objects.filter(assistant=assistant).exists():
        publish_prompt(version=draft_prompt(assistant=assistant, text=_unwrapped(wanted.prompt), note="The demo's"))
    return assistant


def _unwrapped(text: str) -> str:
    """Put paragraphs and list items on one line each."""
    return "\n\n".join(re.sub(r"\n(?!-) *", " ", paragraph) for paragraph in text.strip().split("\n\n"))


def _switches(plan: DemoTenant, tenant: Tenant, assistants: dict[str, Assistant]) -> None:
    """Switch every tool on or to "ask first" for the tenant, and some off for single assistants.

    Tools that ask the person stay off: small models ask for what they know already. Those for scheduled questions
    and for collections, of which there are none, are off: the embedded model has not been evaluated with them.
    """
    known = [tool.name for tool in catalogue.registry() if tool.asks is None and not tool.is_provider_side]
    for name in NOT_EVALUATED:
        if name in known:
            known.remove(name)
            set_switch(actor=None, tenant=tenant, assistant=None, tool=name, policy=ToolSetting.Policy.OFF)
    for name in known:
        policy = ToolSetting.Policy.ASK if name in plan.asking else ToolSetting.Policy.ON
        set_switch(actor=None, tenant=tenant, assistant=None, tool=name, policy=policy)
    for wanted in plan.assistants:
        for name in wanted.without:
            if name in known:
                off = ToolSetting.Policy.OFF
                set_switch(actor=None, tenant=tenant, assistant=assistants[wanted.slug], tool=name, policy=off)


def load_demo_documents(tenant: Tenant, fixtures: Path) -> None:
    """Store a demo tenant's Markdown and text fixtures as documents, unless one of the same title exists."""
    existing = set(Document.objects.filter(tenant_id=tenant.pk).values_list("title", flat=True))
    for path in sorted((fixtures / tenant.slug).iterdir()):
        kind = _DOCUMENT_KINDS.get(path.suffix)
        if kind is None:
            continue
        text = path.read_text(encoding="utf-8")
        # The title is the first heading of a Markdown file, or the name of a text file.
        title = text.partition("\n")[0].removeprefix("# ") if path.suffix == ".md" else _title(path)
        if title not in existing:
            add_document(tenant=tenant, title=title, text=text, kind=kind, is_trusted=True)


def _title(path: Path) -> str:
    return path.stem.replace("-", " ").capitalize()

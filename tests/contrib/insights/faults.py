"""Seeded conversations of a deployment in which twelve families of faults are planted, as sums of days and an audit."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from assistant.contrib.insights.models import DaySum
from assistant.contrib.insights.services.day_sums import Key
from assistant.models import Assistant, AuditEntry, Tenant

CONVERSATIONS = 5_000
DAYS = 60
LAST = date(2026, 6, 30)
FIRST = LAST - timedelta(days=DAYS - 1)
# What happens to a run now and then, without any fault.
USUAL = {"thumbs_down": 0.04, "asked_again": 0.03, "edited": 0.03, "stopped": 0.03, "failed": 0.015, "cut": 0.01}
TOOLS = {"search_docs": 0.35, "get_customer": 0.3, "refund": 0.25, "export_list": 0.0}
# Changes that spoil nothing, by action: target and details.
HARMLESS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("tool.switch", "export_list", {"policy": "off", "before": "on"}),
    ("tool.switch", "get_customer", {"policy": "on", "before": "ask"}),
    ("document.add", "Opening hours", {}),
    ("document.change", "Returns", {"title": ["Return", "Returns"]}),
    ("limits.set", "limits", {"values": {"tenant_messages_per_day": ["100", "200"]}}),
    ("assistant.change", "Support", {"changes": [{"changed": {"fields": ["starters"]}}]}),
    ("promptvariable.change", "opening_hours", {}),
    ("tenant.change", "names", {"changes": [{"changed": {"fields": ["name"]}}]}),
)


@dataclass
class Bot:
    """An assistant that answers: which prompt version and model it has, and which tools it calls how often."""

    assistant: Assistant
    weight: float = 1.0
    prompt: int = 1
    model: str = "m-1"
    provider: str = "Main"
    tools: dict[str, float] = field(default_factory=lambda: dict(TOOLS))
    german: float = 0.3


@dataclass
class Asked:
    """A run that is being made: when, in which language, what it calls, and the chances of what happens to it."""

    bot: Bot
    at: datetime
    language: str
    tools: list[str]
    chances: dict[str, float]
    failing: dict[str, float] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    finds_nothing: float = 0.06


@dataclass
class Planted:
    """A fault: of which tenant, when it began, and how the finder would name it.

    `names` takes a suspect and says whether it is the cause; without suspects it is a drift.
    """

    family: str
    tenant: Tenant
    at: datetime
    is_drift: bool = False
    action: str = ""
    target: str = ""
    seen: str = ""


class World:
    """Tenants whose conversations are made one after the other, from one seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.sums: dict[tuple[int, date, Key], Counter[str]] = defaultdict(Counter)
        self.audit: list[AuditEntry] = []
        self.planted: list[Planted] = []
        self.conversations = 0
        tenants = len(FAMILIES) + 2
        for number in range(tenants):
            count = CONVERSATIONS // tenants + (number < CONVERSATIONS % tenants)
            self._tenant(number, count, FAMILIES[number] if number < len(FAMILIES) else None)
        self._store()

    def moment(self, first: int, last: int) -> datetime:
        """Return a moment of working hours between two days."""
        day = FIRST + timedelta(days=self.chance.randint(first, last))
        return datetime.combine(day, time(self.chance.randint(7, 18), self.chance.randint(0, 59)), UTC)

    def change(self, tenant: Tenant | None, at: datetime, action: str, target: str, **details: Any) -> None:
        self.audit.append(AuditEntry(tenant=tenant, action=action, target=target, details=details, created_at=at))

    def _tenant(self, number: int, conversations: int, family: Callable[..., Fault] | None) -> None:
        tenant = Tenant.objects.create(slug=f"t{number}", name=f"Tenant {number}")
        bots = [
            Bot(Assistant.objects.create(tenant=tenant, slug=name.lower(), name=name), weight)
            for name, weight in (("Support", 0.65), ("Sales", 0.35))
        ]
        at = self.moment(24, 46)
        fault = family(self, tenant, bots, at) if family is not None else None
        versions = self._harmless(tenant, bots, at if fault is not None else None)
        moments = sorted(self._moments(conversations))
        for moment in moments:
            bot = self.chance.choices(bots, [one.weight for one in bots])[0]
            self._conversation(bot, moment, fault, versions)

    def _harmless(self, tenant: Tenant, bots: list[Bot], at: datetime | None) -> list[tuple[datetime, int]]:
        """Record changes that spoil nothing, some of them on the day of the fault; return when Sales got versions."""
        days = [self.moment(3, DAYS - 4) for _ in range(6)]
        if at is not None:
            days += [at - timedelta(hours=self.chance.randint(1, 30)) for _ in range(2)]
        for moment in days:
            action, target, details = self.chance.choice(HARMLESS)
            self.change(tenant, moment, action, target, **details)
        published = self.moment(10, DAYS - 10)
        self.change(tenant, published, "prompt.publish", "sales v2", values={"published version": ["1", "2"]})
        return [(published, 2)]

    def _moments(self, count: int) -> Iterator[datetime]:
        days = [FIRST + timedelta(days=number) for number in range(DAYS)]
        weights = [0.4 if day.weekday() > 4 else 1.0 for day in days]
        for day in self.chance.choices(days, weights, k=count):
            yield datetime.combine(day, time(self.chance.randint(7, 20), self.chance.randint(0, 59)), UTC)

    def _conversation(self, bot: Bot, moment: datetime, fault: Fault | None, versions: list[Any]) -> None:
        self.conversations += 1
        language = "de" if self.chance.random() < bot.german else "en"
        # People differ: some find fault with everything.
        mood = 3.0 if self.chance.random() < 0.08 else 0.8
        for number in range(self.chance.randint(1, 4)):
            at = moment + timedelta(minutes=3 * number)
            tools = [name for name, part in bot.tools.items() if self.chance.random() < part]
            chances = {name: part * (mood if name == "thumbs_down" else 1) for name, part in USUAL.items()}
            run = Asked(bot, at, language, tools, chances)
            prompt = bot.prompt
            if bot.assistant.slug == "sales":
                prompt = max([bot.prompt, *(number for since, number in versions if at >= since)])
            key = {"prompt": prompt, "model": bot.model, "provider": bot.provider}
            if fault is not None:
                key |= fault(run) or {}
            self._count(run, key)

    def _count(self, run: Asked, key: dict[str, Any]) -> None:
        chance = self.chance
        counts = Counter(runs=1, **{name: int(chance.random() < part) for name, part in run.chances.items()})
        counts["refused"] = int(bool(run.refused) or chance.random() < 0.01)
        searched = "search_docs" in run.tools
        counts["nothing_found"] = int(searched and chance.random() < run.finds_nothing)
        counts["answers"] = int(not counts["failed"] and not counts["stopped"])
        whose = Key(run.bot.assistant.pk, key["prompt"], key["provider"], key["model"], "", run.language)
        own = (run.bot.assistant.tenant_id, run.at.date())
        self.sums[*own, whose].update(counts)
        for tool in run.tools:
            failed = int(chance.random() < run.failing.get(tool, 0.02))
            of_tool = {**counts, "calls": 1, "failed_calls": failed}
            self.sums[*own, whose._replace(tool=tool)].update(of_tool)

    def _store(self) -> None:
        DaySum.objects.bulk_create(
            [
                DaySum(tenant_id=tenant, day=day, **key._asdict(), **counts)
                for (tenant, day, key), counts in self.sums.items()
            ]
        )
        moments = [entry.created_at for entry in self.audit]
        AuditEntry.objects.bulk_create(self.audit)
        for entry, moment in zip(self.audit, moments, strict=True):
            entry.created_at = moment
        AuditEntry.objects.bulk_update(self.audit, ["created_at"])


# Changes a run of a tenant with the fault, and returns what of its key is another: prompt, model or provider.
Fault = Callable[[Asked], dict[str, Any] | None]


def _worse(run: Asked, chance: random.Random, **more: float) -> None:
    for name, part in more.items():
        run.chances[name] = run.chances.get(name, 0.0) + part


def prompt_version(world: World, tenant: Tenant, bots: list[Bot], at: datetime) -> Fault:
    """A new prompt version is disliked."""
    size = world.chance.uniform(0.18, 0.3)
    world.change(tenant, at, "prompt.publish", "support v2", values={"published version": ["1", "2"]})
    world.planted.append(Planted("prompt version", tenant, at, action="prompt.publish", target="support v2"))

    def fault(run: Asked) -> dict[str, Any] | None:
        if run.at < at or run.bot is not bots[0]:
            return None
        _worse(run, world.chance, thumbs_down=size)
        return {"prompt": 2}

    return fault


def tool_off(world: World, tenant: Tenant, bots: list[Bot], at: datetime) -> Fault:
    """A tool that half of the questions need is switched off for the tenant: models say that they cannot."""
    world.change(tenant, at, "tool.switch", "refund", policy="off", before="on")
    world.planted.append(Planted("tool switched off", tenant, at, action="tool.switch", target="refund"))
    for bot in bots:
        bot.tools["refund"] = 0.5

    def fault(run: Asked) -> dict[str, Any] | None:
        if run.at >= at and "refund" in run.tools:
            run.tools.remove("refund")
            _worse(run, world.chance, thumbs_down=0.3, asked_again=0.1)
        return None

    return fault


def tool_fails_after_release(world: World, tenant: Tenant, bots: list[Bot], at: datetime) -> Fault:
    """A tool of the deployment fails since a release."""
    world.change(None, at, "release.begin", "2026.5")
    world.planted.append(Planted("tool fails after a release", tenant, at, action="release.begin", target="2026.5"))

    def fault(run: Asked) -> dict[str, Any] | None:
        if run.at >= at:
            run.failing["get_customer"] = 0.7
        return None

    return fault


def model_changed(world: World, tenant: Tenant, bots: list[Bot], at: datetime) -> Fault:
    """An assistant gets a cheaper model, which is worse."""
    size = world.chance.uniform(0.18, 0.3)
    world.change(tenant, at, "assistant.change", "Support", values={"model": ["m-1", "m-mini"]})
    world.planted.append(Planted("model changed", tenant, at, action="assistant.change", target="Support"))

    def fault(run: Asked) -> dict[str, Any] | None:
        if run.at < at or run.bot is not bots[0]:
            return None
        _worse(run, world.chance, thumbs_down=size, asked_again=size / 2)
        return {"model": "m-mini"}

    return fault


def provider_outage(world: World, tenant: Tenant, bots: list[Bot], at: datetime) -> Fault:
    """The tenant's own provider fails for some days, and nobody has changed anything."""
    days = world.chance.randint(3, 5)
    world.planted.append(Planted("provider outage", tenant, at, seen="Own"))

    def fault(run: Asked) -> dict[str, Any] | None:
        if at <= run.at < at + timedelta(days=days):
            _worse(run, world.chance, failed=0.45)
        return {"provider": "Own"}

    return fault


def limit_lowered(world: World, tenant: Tenant, bots: list[Bot], at: datetime) -> Fault:
    """Answers of an assistant may have fewer tokens, and are cut off."""
    world.change(tenant, at, "assistant.change", "Support", values={"max_output_tokens": ["4000", "300"]})
    world.planted.append(Planted("limit lowered", tenant, at, action="assistant.change", target="Support"))

    def fault(run: Asked) -> dict[str, Any] | None:
        if run.at >= at and run.bot is bots[0]:
            _worse(run, world.chance, cut=0.2, thumbs_down=0.04)
        return None

    return fault


def document_removed(world: World, tenant: Tenant, bots: list[Bot], at: datetime) -> Fault:
    """A document that many searches found is deleted."""
    world.change(tenant, at, "document.delete", "Delivery and returns")
    world.planted.append(
        Planted("document removed", tenant, at, action="document.delete", target="Delivery and returns")
    )

    def fault(run: Asked) -> dict[str, Any] | None:
        if run.at >= at and "search_docs" in run.tools:
            run.finds_nothing = 0.5
        return None

    return fault


def misleading_document(world: World, tenant: Tenant, bots: list[Bot], at: datetime) -> Fault:
    """A document with old prices is added, and answers that stand on it are disliked."""
    world.change(tenant, at, "document.add", "Prices of 2019")
    world.planted.append(Planted("misleading document", tenant, at, action="document.add", target="Prices of 2019"))

    def fault(run: Asked) -> dict[str, Any] | None:
        if run.at >= at and "search_docs" in run.tools:
            _worse(run, world.chance, thumbs_down=0.35)
        return None

    return fault


def one_language(world: World, tenant: Tenant, bots: list[Bot], at: datetime) -> Fault:
    """A new prompt version answers German questions in English."""
    world.change(tenant, at, "prompt.publish", "support v2", values={"published version": ["1", "2"]})
    world.planted.append(Planted("language", tenant, at, action="prompt.publish", target="support v2"))
    bots[0].german = 0.45

    def fault(run: Asked) -> dict[str, Any] | None:
        if run.at < at or run.bot is not bots[0]:
            return None
        if run.language == "de":
            _worse(run, world.chance, thumbs_down=0.2, asked_again=0.3)
        return {"prompt": 2}

    return fault


def one_tenant(world: World, tenant: Tenant, bots: list[Bot], at: datetime) -> Fault:
    """Another default provider of one tenant is slow, and people stop its answers, of all assistants."""
    world.change(tenant, at, "tenant.change", tenant.name, values={"default_provider": ["Main", "Slow"]})
    world.planted.append(Planted("one tenant only", tenant, at, action="tenant.change", target=tenant.name))

    def fault(run: Asked) -> dict[str, Any] | None:
        if run.at < at:
            return None
        _worse(run, world.chance, stopped=0.2)
        return {"provider": "Slow", "model": "m-slow"}

    return fault


def one_assistant(world: World, tenant: Tenant, bots: list[Bot], at: datetime) -> Fault:
    """A tool asks no more and is refused for one assistant; a switch of the tenant on the same day spoils nothing."""
    details = {"policy": "off", "before": "on", "assistant": bots[1].assistant.pk}
    world.change(tenant, at, "tool.switch", "sales: get_customer", **details)
    world.change(tenant, at - timedelta(hours=2), "tool.switch", "refund", policy="on", before="ask")
    world.planted.append(Planted("one assistant only", tenant, at, action="tool.switch", target="sales: get_customer"))

    def fault(run: Asked) -> dict[str, Any] | None:
        if run.at >= at and run.bot is bots[1] and "get_customer" in run.tools:
            run.refused.add("get_customer")
            _worse(run, world.chance, thumbs_down=0.2)
        return None

    return fault


def drift(world: World, tenant: Tenant, bots: list[Bot], at: datetime) -> Fault:
    """Answers become worse day by day, since what people ask for changes."""
    begin = at - timedelta(days=18)
    world.planted.append(Planted("gradual drift", tenant, begin, is_drift=True))

    def fault(run: Asked) -> dict[str, Any] | None:
        part = (run.at - begin) / timedelta(days=36)
        if run.bot is bots[0]:
            _worse(run, world.chance, thumbs_down=0.4 * min(1.0, max(0.0, part)))
        return None

    return fault


FAMILIES: tuple[Callable[..., Fault], ...] = (
    prompt_version, tool_off, tool_fails_after_release, model_changed, provider_outage, limit_lowered,
    document_removed, misleading_document, one_language, one_tenant, one_assistant, drift,
)  # fmt: skip

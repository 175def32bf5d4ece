"""Calls every tool in many ways, and finds what returns, changes or links another tenant's rows."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.core.cache import caches

from assistant.contrib.data.models import ReachReview
from assistant.contrib.data.services.plans import plans
from assistant.contrib.data.services.prove.arguments import Case, Cases, Path, pool_of
from assistant.contrib.data.services.prove.calling import Actor, Called, Door, actor_of, call
from assistant.contrib.data.services.prove.outgoing import Outgoing, readable
from assistant.contrib.data.services.prove.seeding import SHARED, Mark, Seeded, Seeder
from assistant.contrib.data.services.prove.watching import RowChange, Watch, links
from assistant.models import ToolSetting
from assistant.services.tenancy.row_scope import all_tenants
from assistant.toolkit import Tool

# A call that takes longer is a finding.
SLOW_SECONDS = 5.0
GENERATED = 10
# Calls of a tool that are made again: with more rows of the other tenant, and through the model's door.
MAX_AGAIN = 12
MAX_AGAIN_OF_OTHERS = 2
MAX_CHOSEN = 100
MAX_OF_OTHERS = 12

RETURNS = "returns a row of another tenant"
CHANGES = "changes a row of another tenant"
LINKS = "links a row of another tenant"
COPIES = "copies a row of another tenant"
WRITES = "says that it only reads, and changes rows"
SECRET = "returns a column that looks secret"  # noqa: S105 - the name of a finding  # nosec B105
TELLS_APART = "answers differently for absent rows and another tenant's"
DEPENDS = "answers differently when another tenant has other rows"
RAISES = "raises an error"
SLOW = "is slow"
ACROSS = " A many-to-many relation leads to it from a row of the own tenant."


@dataclass(frozen=True, slots=True)
class Finding:
    """What a tool does that it should not, and the smallest call that shows it."""

    tool: str
    kind: str
    actor: str
    door: Door
    arguments: dict[str, Any]
    detail: str


@dataclass
class Proof:
    """What was called and found.

    Attributes:
        calls: how many calls each tool had.
        skipped: tools that could not be called, and why.
        unseeded: models that no row could be made of, and why.
    """

    findings: list[Finding] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    unseeded: dict[str, str] = field(default_factory=dict)
    rows: int = 0


@dataclass(frozen=True, slots=True)
class _Made:
    """A call, how it ended, and the rows that it changed."""

    tool: Tool
    case: Case
    actor: Actor
    door: Door
    called: Called
    changes: tuple[RowChange, ...]
    outgoing: str = ""


class Prover:
    """Proves a set of tools in a database of which it may do what it likes.

    Args:
        tools: in the order in which they are called.
        say: told the name of each tool when it begins.
    """

    def __init__(self, tools: list[Tool], say: Callable[[str], None]) -> None:
        self._tools = tools
        self._say = say
        self._seeder = Seeder()
        self._seeded = Seeded()
        self._proof = Proof()
        self._watch = Watch()
        self._found: dict[tuple[str, str], Finding] = {}
        self._runner = asyncio.Runner()

    def prove(self) -> Proof:
        """Seed, call and judge."""
        with self._runner:
            return self._proved()

    def _proved(self) -> Proof:
        with all_tenants():
            self._seeded = self._seeder.seed()
            self._switch_on()
            self._rows = self._watch.rows()
            self._owners = self._watch.owners()
        self._outgoing = Outgoing()
        made_of = {model._meta.label for by_model in self._seeded.rows.values() for model in by_model}
        self._proof.unseeded = {label: reason for label, reason in self._seeded.left.items() if label not in made_of}
        self._proof.rows = sum(map(len, self._rows.values()))
        actors = self._actors()
        pool = pool_of(self._seeded)
        kept: list[tuple[Tool, list[_Made]]] = []
        for tool in self._tools:
            self._say(tool.name)
            cases = Cases(dict(tool.parameters), pool, tool.name)
            kept.append((tool, self._call_all(tool, cases, actors)))
        with all_tenants():
            self._seeder.grow()
            self._rows = self._watch.rows()
            self._owners = self._watch.owners()
        for tool, made in kept:
            self._compare(tool, made)
        self._look_across(kept)
        with all_tenants():
            self._watch.delete(self._owned_by("b"))
            self._rows = self._watch.rows()
            self._owners = self._watch.owners()
        for tool, made in kept:
            self._compare(tool, made)
        self._proof.findings = list(self._found.values())
        return self._proof

    def _switch_on(self) -> None:
        for tenant in self._seeded.tenants.values():
            for tool in self._tools:
                ToolSetting.objects.update_or_create(
                    tenant=tenant,
                    assistant=None,
                    tool=tool.name,
                    defaults={"policy": ToolSetting.Policy.ON, "reason": ""},
                )
        ReachReview.objects.create(is_read_only=False, reach={})

    def _actors(self) -> list[Actor]:
        seeded = self._seeded
        of_a = ("member", "admin", "staff", "both", "end user")
        parts = [*(("a", part) for part in of_a), ("b", "member")]
        return [actor_of(owner, part, seeded.tenants[owner], seeded.people[owner][part]) for owner, part in parts]

    def _call_all(self, tool: Tool, cases: Cases, actors: list[Actor]) -> list[_Made]:
        """Make all calls of a tool; return those whose answers are compared with later ones."""
        member, *others, stranger = actors
        # The other tenant's people come first: what is remembered of their calls must not be told to others.
        self._judged_all(tool, cases.own(), stranger)
        chosen = list(cases.chosen())[:MAX_CHOSEN]
        made = self._judged_all(tool, [*cases.own(), *chosen, *cases.generated(GENERATED)], member)
        self._compare_absent(made)
        again = _comparable(made)[:MAX_AGAIN]
        for actor in others:
            of_actor = self._judged_all(tool, [*cases.own(), *chosen[:MAX_OF_OTHERS]], actor)
            self._compare_absent(of_actor)
            self._judged_all(tool, [one.case for one in of_actor[:MAX_AGAIN_OF_OTHERS]], actor, "model")
            again += _comparable(of_actor)[:MAX_AGAIN_OF_OTHERS]
        self._judged_all(tool, [one.case for one in made[:MAX_AGAIN]], member, "model")
        return again

    def _judged_all(self, tool: Tool, cases: Iterable[Case], actor: Actor, door: Door = "straight") -> list[_Made]:
        """Make calls one after the other, until it is known that the tool is slow or cannot be called."""
        made: list[_Made] = []
        for case in cases:
            if tool.name in self._proof.skipped or self._is_found(tool, SLOW):
                break
            made.append(self._judged(tool, case, actor, door))
            if made[-1].called.how == "skipped":
                self._proof.skipped[tool.name] = made[-1].called.text
        return made

    def _judged(self, tool: Tool, case: Case, actor: Actor, door: Door) -> _Made:
        made = self._made(tool, case, actor, door)
        for kind, detail in self._kinds(made):
            self._keep(made, kind, detail)
        # A busy machine makes any call slow once.
        if made.called.seconds > SLOW_SECONDS and not self._is_found(tool, SLOW):
            again = self._made(tool, case, actor, door)
            if again.called.seconds > SLOW_SECONDS:
                self._keep(made, SLOW, f"It took {again.called.seconds:.1f} seconds.")
        return made

    def _made(self, tool: Tool, case: Case, actor: Actor, door: Door) -> _Made:
        called = call(tool, case.arguments, actor, door, self._runner)
        self._proof.calls[tool.name] = self._proof.calls.get(tool.name, 0) + 1
        with all_tenants():
            changes = self._watch.changes(self._rows, self._watch.rows())
            made = _Made(tool, case, actor, door, called, tuple(changes), self._outgoing.taken())
            # Owners of new rows are known only as long as they are there.
            if changes:
                self._new_owners = self._watch.owners()
                self._watch.restore(changes)
            else:
                self._new_owners = self._owners
        return made

    def _kinds(self, made: _Made) -> Iterator[tuple[str, str]]:
        called = made.called
        if called.how == "foreign":
            yield RETURNS, f"The tripwire stopped it: {called.text}"
        elif called.how == "raised":
            yield RAISES, called.text[:300]
        other = "b" if made.actor.owner == "a" else "a"
        for token, mark in self._marks_in(called.answer[1], made):
            if mark.owner == other:
                yield RETURNS, f"{token} is {mark.model}.{mark.column} of the other tenant."
            elif mark.is_secret and called.how == "ok":
                yield SECRET, f"{token} is {mark.model}.{mark.column}."
        for token, mark in self._marks_in(made.outgoing, made):
            if mark.owner == other:
                yield COPIES, f"{token} is {mark.model}.{mark.column} of the other tenant, and in a mail or a file."
        yield from self._of_changes(made)

    def _marks_in(self, text: str, made: _Made) -> Iterator[tuple[str, Mark]]:
        """Yield the texts of rows that a text has, also encoded, and the call's arguments have not."""
        found = readable(text) if text else ""
        said = json.dumps(made.case.arguments, ensure_ascii=False, default=str).casefold()
        for token, mark in self._seeded.marks.items():
            if token in found and token not in said:
                yield token, mark

    def _of_changes(self, made: _Made) -> Iterator[tuple[str, str]]:
        mine = self._keys_of(made.actor.owner)
        theirs = self._keys_of("b" if made.actor.owner == "a" else "a")
        for change in made.changes:
            place = (change.model, str(change.key))
            before = self._owners.get(place, set())
            after = self._new_owners.get(place, set())
            is_theirs = (
                bool(before & theirs) if change.before is not None else bool(after & theirs) and not after & mine
            )
            label = f"{change.model._meta.label} {change.key}"
            if is_theirs:
                yield CHANGES, f"{label} was {change.how}."
            for related, value in links(change):
                if (self._owners.get((related, value), set()) & theirs) and not is_theirs:
                    yield LINKS, f"{label} was {change.how} and refers to {related._meta.label} {value}."
            if not is_theirs and change.after is not None:
                yield from self._of_copies(made, change)
            if made.tool.read_only:
                yield WRITES, f"{label} was {change.how}."

    def _of_copies(self, made: _Made, change: RowChange) -> Iterator[tuple[str, str]]:
        before = readable(repr(change.before))
        for token, mark in self._marks_in(repr(change.after), made):
            if mark.owner not in (made.actor.owner, SHARED) and token not in before:
                place = f"{change.model._meta.label} {change.key}"
                yield COPIES, f"{token} is {mark.model}.{mark.column} of the other tenant, and now in {place}."

    def _keys_of(self, owner: str) -> set[str]:
        tenant = self._seeded.tenants[owner]
        keys = {str(tenant.external_id or tenant.pk)}
        row = self._seeded.host_rows.get(owner)
        return keys | ({str(row.pk)} if row is not None else set())

    def _compare_absent(self, made: list[_Made]) -> None:
        """Compare what is told of absent values with what is told of another tenant's, argument by argument."""
        absent: dict[tuple[Path, int], set[tuple[str, str]]] = {}
        made = [one for one in made if one.case.names_rows and one.called.how != "refused"]
        for one in made:
            if one.case.kind == "absent":
                absent.setdefault((one.case.path, one.case.variant), set()).update(_answers(one))
        for one in made:
            known = absent.get((one.case.path, one.case.variant))
            if one.case.kind != "foreign" or not known or self._is_found(one.tool, RETURNS, CHANGES, LINKS, RAISES):
                continue
            again = self._made(one.tool, one.case, one.actor, one.door) if not known & _answers(one) else None
            # What differs from call to call says nothing.
            if again is not None and _answers(again) & _answers(one):
                expected = min(known)
                self._keep(
                    one, TELLS_APART, f"Absent: {expected[1][:150]!r}; of the other tenant: {one.called.text[:150]!r}"
                )

    def _owned_by(self, owner: str) -> dict[Any, list[Any]]:
        """Return the keys of a tenant's rows by model, without the tenant itself."""
        keys = self._keys_of(owner)
        found: dict[Any, list[Any]] = {}
        for model, rows in self._rows.items():
            owned = {key: self._owners.get((model, str(key)), set()) for key in rows}
            mine = [key for key, owners in owned.items() if owners and owners <= keys]
            if mine and type(self._seeded.host_rows.get(owner)) is not model:
                found[model] = mine
        return found

    def _compare(self, tool: Tool, made: list[_Made]) -> None:
        """Make calls again now that the other tenant has other rows."""
        if tool.name in self._proof.skipped or self._is_found(tool, RETURNS, DEPENDS, SLOW):
            return
        for one in made:
            for cache in caches.all():
                cache.clear()
            again = self._made(tool, one.case, one.actor, "straight")
            if again.called.answer == one.called.answer:
                continue
            twice = self._made(tool, one.case, one.actor, "straight")
            # What differs from call to call, such as the time, says nothing.
            if twice.called.answer == again.called.answer:
                before = one.called.answer[1][:150]
                after = again.called.answer[1][:150]
                self._keep(one, DEPENDS, f"Before: {before!r}; after: {after!r}")
                return

    def _look_across(self, kept: list[tuple[Tool, list[_Made]]]) -> None:
        """Make calls again while many-to-many relations lead to the other tenant's rows, which no answer may show."""
        with all_tenants():
            before = self._rows
            self._seeder.cross()
            self._rows = self._watch.rows()
            self._owners = self._watch.owners()
            crossing = self._watch.changes(before, self._rows)
        for tool, made in kept if crossing else ():
            for one in made:
                if tool.name in self._proof.skipped or self._is_found(tool, RETURNS, SLOW):
                    break
                again = self._made(tool, one.case, one.actor, "straight")
                for kind, detail in self._kinds(again):
                    # Whose the relations themselves are cannot be said.
                    if kind == RETURNS:
                        self._keep(again, kind, detail, where=ACROSS)
        with all_tenants():
            self._watch.restore(crossing)
            self._rows = before

    def _is_found(self, tool: Tool, *kinds: str) -> bool:
        return any((tool.name, kind) in self._found for kind in kinds)

    def _keep(self, made: _Made, kind: str, detail: str, where: str = "") -> None:
        place = (made.tool.name, kind)
        if place in self._found:
            return
        self._found[place] = Finding(
            made.tool.name, kind, "", made.door, {}, ""
        )  # so that shrinking does not come back
        arguments = made.case.arguments
        if kind not in (TELLS_APART, DEPENDS, SLOW):
            arguments, detail = self._shrunk(made, kind, detail)
        actor = f"{made.actor.part} of tenant {made.actor.owner}"
        self._found[place] = Finding(made.tool.name, kind, actor, made.door, arguments, detail + where)

    def _shrunk(self, made: _Made, kind: str, detail: str) -> tuple[dict[str, Any], str]:
        """Return the arguments without those that are not needed to show a finding."""
        arguments = made.case.arguments
        required = set(made.tool.parameters.get("required", ()))
        for smaller in _smaller(arguments, required):
            again = self._made(made.tool, Case(smaller), made.actor, made.door)
            told = next((text for found, text in self._kinds(again) if found == kind), None)
            if told is not None:
                return self._shrunk(
                    _Made(made.tool, Case(smaller), made.actor, made.door, again.called, ()), kind, told
                )
        return arguments, detail


def _answers(made: _Made) -> set[tuple[str, str]]:
    """Return how a call ended, as it was told and without the value that it named."""
    value: Any = made.case.arguments
    for name in made.case.path:
        value = value.get(name) if isinstance(value, dict) else None
    value = value[0] if isinstance(value, list) and value else value
    # Keys of rows that a call has made differ each time.
    keys = [str(change.key) for change in made.changes if change.before is None]
    return made.called.without(str(value), keys)


def _comparable(made: list[_Made]) -> list[_Made]:
    """Return the calls whose answer may be compared with that of a later one, each once."""
    kept = {
        json.dumps(one.case.arguments, sort_keys=True, default=str): one
        for one in reversed(made)
        if one.called.how in ("ok", "told") and not one.changes
    }
    return list(reversed(kept.values()))


def _smaller(arguments: dict[str, Any], required: set[str]) -> Iterator[dict[str, Any]]:
    for name in arguments:
        if name not in required:
            yield {other: value for other, value in arguments.items() if other != name}
    for name, value in arguments.items():
        if isinstance(value, dict) and len(value) > 1:
            for inner in value:
                smaller = copy.deepcopy(arguments)
                del smaller[name][inner]
                yield smaller


def tools_to_prove(tools: list[Tool]) -> list[Tool]:
    """Return the tools that run here, those written by hand first."""
    made = {name for plan in plans() for name in plan.tools}
    found = [tool for tool in tools if tool.handler is not None and not tool.is_provider_side]
    return sorted(found, key=lambda tool: tool.name in made)

"""Generated tries to read documents, by all doors: none returns a foreign or forbidden passage, count or title."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db.models import Q

from assistant.contrib.collections.models import Collection
from assistant.contrib.collections.services.placing import place_documents
from assistant.library.knowledge import read_document, search_docs
from assistant.models import Assistant, Document, Membership, Passage, Tenant
from assistant.services.knowledge import visible_rows
from assistant.services.knowledge.documents import add_document
from assistant.services.knowledge.fusion import search_fused
from assistant.services.knowledge.overview import MAX_TITLES, describe_documents
from assistant.services.knowledge.quotations import passages_around
from assistant.services.knowledge.rankings import Ranked, rank_with
from assistant.services.knowledge.reach import Reach, reach_of
from assistant.services.knowledge.sources import visible_sources
from assistant.services.tenancy.members import find_member
from assistant.toolkit import TenantInfo, ToolContext, ToolError
from tests.factories import make_assistant, make_member, make_tenant
from tests.library.calling import call, context_of
from tests.services.knowledge.lines import forget_lines

pytestmark = pytest.mark.django_db
ASKERS = 12
# COLLECTION_TRIES=10000 makes as many tries as the goal asks for: ten by each asker.
TRIES = int(os.environ.get("COLLECTION_TRIES", "1200"))
WORLDS = TRIES // (10 * ASKERS)
# Of the ten tries of each.
READS = 3
WORDS = ("valve", "pump", "gate", "badge", "merger", "wage", "vault", "zip", "VX-77", "invoice")
ROLES = ("member", "admin", "owner", "end_user")
PERMISSIONS = ("", "", "auth.view_group", "auth.add_group")
SEEN: dict[Any, frozenset[str]] = {}


def seen_rows(context: ToolContext, model: str, keys: Any) -> frozenset[str]:
    return frozenset(keys) & SEEN.get((context.tenant.pk, context.user.id), frozenset())


def near(*, reach: Reach, questions: Any, limit: int) -> list[Ranked | None]:
    """Rank as vectors do: the nearest within reach, whatever their words."""
    found = list(reach.passages().order_by("-pk").values_list("pk", flat=True)[:limit])
    return [Ranked("near", {pk: 0.9 - at / 1000 for at, pk in enumerate(found)}) for _ in questions]


@pytest.fixture(autouse=True)
def rules() -> Iterator[None]:
    from assistant.services.knowledge import rankings

    before = (visible_rows._rule, rankings._ranking)
    visible_rows.see_rows_with(f"{__name__}.seen_rows")
    forget_lines()
    yield
    visible_rows.see_rows_with(before[0])
    rank_with(before[1])
    forget_lines()


@dataclass
class Asker:
    context: ToolContext
    role: str | None
    permissions: frozenset[str]


@dataclass
class Place:
    """What the test itself knows of a document: its tenant, its collection's conditions, and its row."""

    document: Document
    roles: list[str] = field(default_factory=list)
    permission: str = ""
    assistants: list[str] = field(default_factory=list)
    row: str = ""

    def is_for(self, asker: Asker) -> bool:
        context = asker.context
        return (
            self.document.tenant_id == context.tenant.pk
            and (not self.roles or asker.role in self.roles)
            and (not self.permission or self.permission in asker.permissions)
            and (not self.assistants or context.assistant in self.assistants)
            and (not self.row or self.row in SEEN.get((context.tenant.pk, context.user.id), frozenset()))
        )


def title_of(tenant: Tenant, number: int) -> str:
    return f"Paper {number:02} of {tenant.slug}"


class World:
    """Two tenants with the same words, collections and assistants, each with people of all roles."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.tenants = [make_tenant("left"), make_tenant("right")]
        self.places: dict[int, Place] = {}
        self.askers: list[Asker] = []
        self.assistants: dict[int, list[Assistant]] = {}
        for tenant in self.tenants:
            self.assistants[tenant.pk] = [make_assistant(tenant, slug) for slug in ("support", "legal")]
            for number in range(30):
                text = f"{tenant.slug} {number}: {' '.join(chance.sample(WORDS, 4))}."
                document = add_document(tenant=tenant, title=title_of(tenant, number), text=text, is_trusted=True)
                self.places[document.pk] = Place(document)
            for name in ("one", "two", "three", "four"):
                Collection.objects.create(tenant=tenant, name=name)
            self._people(tenant)

    def _people(self, tenant: Tenant) -> None:
        info = TenantInfo(tenant.pk, tenant.slug)
        for slug in ("", "support", "legal"):
            self.askers.append(Asker(ToolContext(tenant=info, assistant=slug), None, frozenset()))
        for role in ROLES:
            user: Any = make_member(tenant, f"{tenant.slug}-{role}", role=role)
            held = self.chance.sample(["auth.view_group", "auth.add_group"], self.chance.randint(0, 2))
            user.user_permissions.set(Permission.objects.filter(codename__in=[one.split(".")[1] for one in held]))
            for slug in ("", "support", "legal"):
                self.askers.append(Asker(context_of(tenant, user, assistant=slug), role, frozenset(held)))
            stranger = next(other for other in self.tenants if other != tenant)
            self.askers.append(Asker(context_of(stranger, user, assistant="support"), None, frozenset()))

    def change(self) -> None:
        """Give collections other conditions, and documents other collections and rows."""
        chance = self.chance
        SEEN.clear()
        for asker in self.askers:
            SEEN[asker.context.tenant.pk, asker.context.user.id] = frozenset(map(str, chance.sample(range(1, 9), 4)))
        for tenant in self.tenants:
            rows = list(Collection.objects.filter(tenant=tenant))
            for row in rows:
                row.roles = chance.sample(ROLES, chance.choice((0, 0, 1, 2)))
                row.permission = chance.choice(PERMISSIONS)
                row.save()
                row.assistants.set(chance.sample(self.assistants[tenant.pk], chance.choice((0, 0, 1))))
                # An admin who takes the last one out may open it again.
                Collection.objects.filter(pk=row.pk).update(for_chosen_assistants=row.assistants.exists())
            own = [place for place in self.places.values() if place.document.tenant_id == tenant.pk]
            for place in chance.sample(own, 12):
                self._put(tenant, place, chance.choice([None, *rows]))
            by_name = {row.pk: row for row in rows}
            for place in own:
                self._know(place, by_name)

    def _put(self, tenant: Tenant, place: Place, collection: Collection | None) -> None:
        row = None
        if collection is not None and self.chance.random() < 0.4:
            row = Membership(pk=self.chance.randint(1, 9))
        ids = [place.document.pk]
        place_documents(tenant=tenant, document_ids=ids, collection=collection, actor=None, row=row)
        place.row = "" if row is None else str(row.pk)
        place.document.in_collection = None if collection is None else collection.pk  # type: ignore[attr-defined]

    def _know(self, place: Place, rows: dict[int, Collection]) -> None:
        row = rows.get(getattr(place.document, "in_collection", None) or 0)
        place.roles = list(row.roles) if row else []
        place.permission = row.permission if row else ""
        place.assistants = [one.slug for one in row.assistants.all()] if row else []


def wanted(chance: random.Random, world: World) -> list[Q]:
    """Return filters that a caller may add: they only take away."""
    some = [place.document.pk for place in chance.sample(list(world.places.values()), 20)]
    every = [Q(kind="markdown"), Q(pk__in=some), Q(updated_at__year__gte=2000)]
    return chance.sample(every, chance.choice((0, 0, 1, 2)))


def tries_of(world: World, asker: Asker) -> Iterator[set[int]]:
    """Yield the documents that each of ten tries shows: by words, by meaning, listed, counted, read, by tools."""
    chance = world.chance
    context = asker.context
    permitted = {pk for pk, place in world.places.items() if place.is_for(asker)}
    reach = reach_of(context)
    for ranking in (None, None, f"{__name__}.near", f"{__name__}.near"):
        rank_with(ranking)
        filters = wanted(chance, world)
        within = reach.within(*filters)
        query = " ".join(chance.sample(WORDS, 2))
        yield {hit.passage.document_id for hit in search_fused(reach=within, queries=[query], limit=10).hits}
        # Each document is one passage.
        assert within.total == Document.objects.filter(*filters, pk__in=permitted).count()
    rank_with(None)
    listed = set(reach.documents().values_list("pk", flat=True))
    assert listed == permitted
    yield listed
    told = describe_documents(reach)
    counted = re.match(r"There (?:is|are) (\d+|none)\b", told)
    assert counted and counted[1] == str(len(permitted) or "none")
    named = {pk for pk, place in world.places.items() if place.document.title in told}
    first = sorted(permitted, key=lambda pk: world.places[pk].document.title)[:MAX_TITLES]
    assert named == set(first)
    yield named
    for document in chance.sample(list(world.places), READS):
        found = passages_around(reach=reach, document_id=document, position=1)
        assert bool(found) == (document in permitted)
        yield {passage.document_id for passage in found}
    yield by_tool(world, asker, WORDS[0]) if chance.random() < 0.2 else by_sources(world, asker)


def by_tool(world: World, asker: Asker, query: str) -> set[int]:
    document = world.chance.choice(list(world.places))
    results = call(search_docs, asker.context, queries=[query])["results"]
    try:
        results += call(read_document, asker.context, id=document, around=1)["results"]
    except ToolError as exc:
        assert str(exc).startswith(f"There is no passage [{document}.1].")
        assert not world.places[document].is_for(asker)
    return {int(one["number"].partition(".")[0]) for one in results}


def by_sources(world: World, asker: Asker) -> set[int]:
    """Return the documents of which an old answer, that names every one, still shows its source."""
    context = asker.context
    slug = context.tenant.slug
    member = find_member(user_id=context.user.id or 0, tenant_slug=slug, with_end_users=True)
    if member is None:
        return set()
    passages: Any = {1: [{"source_id": f"doc-{pk}.1"} for pk in world.places]}
    left = visible_sources(member=member, assistant=context.assistant, passages=passages)
    return {int(str(one["source_id"])[4:-2]) for one in left[1]}


@pytest.mark.slow
@pytest.mark.timeout(900 + TRIES // 4)
@pytest.mark.parametrize("seed", [55])
def test_tries_return_nothing_forbidden(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from assistant.services.knowledge import evidence

    # Lines of evidence would be drawn anew for each of the many worlds, and refuse much of so few words. They are tried
    # in `test_evidence_is_judged_by_what_may_be_read`.
    monkeypatch.setattr(evidence, "lines_of", lambda reach, model="": evidence._NO_LINES)
    world = World(random.Random(seed))
    tries = 0
    shown = 0
    kept_back = 0
    forbidden = 0
    for _ in range(WORLDS):
        world.change()
        for asker in world.chance.choices(world.askers, k=ASKERS):
            closed = {pk for pk, place in world.places.items() if not place.is_for(asker)}
            for found in tries_of(world, asker):
                tries += 1
                shown += len(found)
                kept_back += len(closed - found)
                forbidden += len(closed & found)
    assert (tries, forbidden) == (10 * WORLDS * ASKERS, 0)
    # So often a document that the asker may not read was there, and no try showed it.
    assert kept_back > 1_000 * WORLDS
    # The tries do find what is permitted.
    assert shown > 400 * WORLDS
    assert Passage.objects.count() == len(world.places)


@pytest.mark.skipif(not find_spec("numpy"), reason="needs the extra embeddings")
def test_vectors_are_compared_within_what_may_be_read(cast: Any) -> None:
    import numpy as np

    from assistant.contrib.embeddings.services.vectors import Vectors, nearest

    rows = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.int8)
    scale = np.ones(3, dtype=np.float32)
    every = Vectors((3, 3), np.array([10, 11, 12]), rows, scale, np.zeros(2, dtype=np.float32))
    best = nearest(every.among([11, 12]), [bytes([1, 0])], 1)
    assert list(best) == [12]

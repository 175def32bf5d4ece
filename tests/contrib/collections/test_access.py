"""Collections: who may read one is decided when a question is asked, everywhere that documents are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext

from assistant.contrib.collections.models import CollectedDocument, Collection
from assistant.contrib.collections.services.placing import PlacingError, place_documents
from assistant.library.knowledge import read_document, search_docs
from assistant.models import AuditEntry, Document, Membership, Tenant
from assistant.services.knowledge import evidence, visible_rows
from assistant.services.knowledge.documents import add_document
from assistant.services.knowledge.overview import described
from assistant.services.knowledge.reach import Reach, _rules, narrow_with, reach_of
from assistant.services.knowledge.sources import visible_sources
from assistant.services.tenancy.members import find_member
from assistant.toolkit import TenantInfo, ToolContext, ToolError
from tests.base import Cast
from tests.factories import make_assistant, make_member
from tests.library.calling import call, context_of
from tests.services.knowledge.lines import forget_lines

pytestmark = pytest.mark.django_db
SECRET = "The merger with Initech closes in May."


def put(tenant: Tenant, *documents: Document, **conditions: Any) -> Collection:
    assistants = conditions.pop("assistants", ())
    collection, _ = Collection.objects.get_or_create(tenant=tenant, name=f"C{len(conditions)}", defaults=conditions)
    collection.assistants.set(assistants)
    place_documents(tenant=tenant, document_ids=[one.pk for one in documents], collection=collection, actor=None)
    return collection


@pytest.fixture
def merger(cast: Cast) -> Document:
    add_document(tenant=cast.acme, title="Hours", text="The shop opens at nine.", is_trusted=True)
    return add_document(tenant=cast.acme, title="Merger plan", text=SECRET, is_trusted=True)


def finds(context: ToolContext, document: Document) -> bool:
    """Return whether a document is found; all ways of reading it must agree."""
    searched = call(search_docs, context, queries=["merger Initech May"])["results"]
    is_found = any(one["text"] == document.text for one in searched)
    try:
        is_read = bool(call(read_document, context, id=document.pk)["results"])
    except ToolError as exc:
        is_read = False
        assert str(exc).startswith(f"There is no passage [{document.pk}.1].")
    is_listed = reach_of(context).documents().filter(pk=document.pk).exists()
    assert is_found == is_read == is_listed
    return is_found


def test_without_conditions_everybody_reads_it(cast: Cast, merger: Document) -> None:
    put(cast.acme, merger)
    assert finds(context_of(cast.acme, cast.alice), merger)
    assert finds(ToolContext(tenant=TenantInfo(cast.acme.pk, "acme")), merger)
    assert not finds(context_of(cast.globex, cast.mallory), merger)


def test_a_collection_for_roles_is_read_by_those_who_have_one_now(cast: Cast, merger: Document) -> None:
    put(cast.acme, merger, roles=["admin", "owner"])
    alice, amy = (context_of(cast.acme, user) for user in (cast.alice, cast.amy))
    assert finds(amy, merger) and not finds(alice, merger)
    Membership.objects.filter(user=cast.alice).update(role="owner")
    Membership.objects.filter(user=cast.amy).update(role="member")
    assert finds(alice, merger) and not finds(amy, merger)


def test_who_has_left_or_is_no_member_reads_what_is_open_alone(cast: Cast, merger: Document) -> None:
    put(cast.acme, merger, roles=["member", "admin"])
    assert finds(context_of(cast.acme, cast.alice), merger)
    cast.alice.is_active = False
    cast.alice.save()
    for user in (cast.alice, cast.mallory, cast.oscar):
        assert not finds(context_of(cast.acme, user), merger)


def test_end_users_and_calls_without_a_user_reach_open_collections_alone(cast: Cast, merger: Document) -> None:
    visitor = make_member(cast.acme, "visitor", role=Membership.Role.END_USER)
    collection = put(cast.acme, merger, roles=["member", "admin", "owner"])
    nobody = ToolContext(tenant=TenantInfo(cast.acme.pk, "acme"))
    assert not finds(context_of(cast.acme, visitor), merger) and not finds(nobody, merger)
    Collection.objects.filter(pk=collection.pk).update(roles=["end_user"])
    assert finds(context_of(cast.acme, visitor), merger) and not finds(nobody, merger)
    assert not finds(context_of(cast.acme, cast.alice), merger)


def test_a_permission_counts_directly_by_group_and_for_superusers(cast: Cast, merger: Document) -> None:
    put(cast.acme, merger, permission="auth.view_group")
    alice = context_of(cast.acme, cast.alice)
    assert not finds(alice, merger)
    cast.alice.user_permissions.add(Permission.objects.get(codename="view_group"))
    assert finds(alice, merger)
    Membership.objects.create(tenant=cast.acme, user=cast.root, role="member")
    assert finds(context_of(cast.acme, cast.root), merger)


def test_a_collection_of_an_assistant_is_read_through_it_alone(cast: Cast, merger: Document) -> None:
    legal = make_assistant(cast.acme, "legal")
    put(cast.acme, merger, assistants=[legal])
    assert finds(context_of(cast.acme, cast.alice, assistant="legal"), merger)
    assert not finds(context_of(cast.acme, cast.alice, assistant="support"), merger)
    assert not finds(context_of(cast.acme, cast.alice), merger)


def test_a_collection_of_an_assistant_that_is_deleted_is_for_nobody(cast: Cast, merger: Document) -> None:
    legal = make_assistant(cast.acme, "legal")
    put(cast.acme, merger, assistants=[legal], for_chosen_assistants=True)
    legal.delete()
    for slug in ("", "support", "legal"):
        assert not finds(context_of(cast.acme, cast.amy, assistant=slug), merger)


def test_all_conditions_of_a_collection_hold_together(cast: Cast, merger: Document) -> None:
    put(cast.acme, merger, roles=["admin"], permission="auth.view_group")
    assert not finds(context_of(cast.acme, cast.amy), merger)


def seen_rows(context: ToolContext, model: str, keys: Any) -> frozenset[str]:
    return frozenset(key for key in keys if model == "auth.User" and key == str(context.user.id))


@pytest.fixture
def own_rows() -> Iterator[None]:
    before = visible_rows._rule
    visible_rows.see_rows_with(f"{__name__}.seen_rows")
    yield
    visible_rows.see_rows_with(before)


@pytest.mark.usefixtures("own_rows")
def test_a_document_of_a_row_is_read_by_those_who_see_the_row(cast: Cast, merger: Document) -> None:
    collection = put(cast.acme)
    place_documents(tenant=cast.acme, document_ids=[merger.pk], collection=collection, actor=cast.amy, row=cast.alice)
    assert finds(context_of(cast.acme, cast.alice), merger)
    assert not finds(context_of(cast.acme, cast.amy), merger)


@pytest.mark.usefixtures("own_rows")
def test_a_document_that_is_moved_stays_with_its_row_unless_another_is_given(cast: Cast, merger: Document) -> None:
    first = put(cast.acme)
    second = Collection.objects.create(tenant=cast.acme, name="Second")
    alice, amy = (context_of(cast.acme, user) for user in (cast.alice, cast.amy))

    def place(collection: Collection | None, **row: Any) -> int:
        return place_documents(tenant=cast.acme, document_ids=[merger.pk], collection=collection, actor=cast.amy, **row)

    assert place(first, row=cast.alice) == place(second) == 1
    assert finds(alice, merger) and not finds(amy, merger)
    assert place(second) == 0
    assert place(second, row=None) == 1
    assert finds(amy, merger)
    place(second, row=cast.alice)
    place(None)
    assert finds(amy, merger)


@pytest.mark.usefixtures("own_rows")
@pytest.mark.django_db(transaction=True)
async def test_a_description_names_no_title_that_has_been_given_a_row(cast: Cast) -> None:
    from asgiref.sync import sync_to_async

    add = sync_to_async(add_document)
    place = sync_to_async(place_documents)
    mine = await add(tenant=cast.acme, title="Hours", text="The shop opens at nine.", is_trusted=True)
    secret = await add(tenant=cast.acme, title="Merger plan", text=SECRET, is_trusted=True)
    collection = await sync_to_async(put)(cast.acme, secret)
    alice = context_of(cast.acme, cast.alice)
    await place(tenant=cast.acme, document_ids=[mine.pk], collection=collection, actor=None, row=cast.alice)
    assert (await described(alice)).endswith("Among them: Hours; Merger plan.")
    await place(tenant=cast.acme, document_ids=[secret.pk], collection=collection, actor=None, row=cast.amy)
    assert await described(alice) == "There is 1 in English. Among them: Hours."


def test_evidence_is_judged_by_what_may_be_read(cast: Cast, merger: Document) -> None:
    forget_lines()
    for number in range(3):
        add_document(tenant=cast.acme, title=f"Plan {number}", text="Glaciers, chess and whales.")
    put(cast.acme, merger, roles=["admin"])
    alice, amy = (reach_of(context_of(cast.acme, user)) for user in (cast.alice, cast.amy))
    assert evidence.find(reach=alice, queries=["merger with Initech"], limit=5).evidence == "none"
    found = evidence.find(reach=amy, queries=["merger with Initech"], limit=5)
    assert found.evidence == "good" and found.hits[0].passage.document_id == merger.pk
    shop = evidence.find(reach=alice, queries=["shop opens"], limit=5)
    assert shop.evidence == "good" and merger.pk not in {hit.passage.document_id for hit in shop.hits}
    # Lines of different readers are drawn apart.
    assert len(evidence._kept) == 2
    forget_lines()


def test_without_an_app_that_knows_rows_nobody_reads_their_documents(cast: Cast, merger: Document) -> None:
    collection = put(cast.acme)
    place_documents(tenant=cast.acme, document_ids=[merger.pk], collection=collection, actor=None, row=cast.alice)
    before = visible_rows._rule
    visible_rows.see_rows_with(None)
    assert not finds(context_of(cast.acme, cast.alice), merger)
    visible_rows.see_rows_with(before)


@pytest.mark.django_db(transaction=True)
async def test_titles_and_counts_tell_nothing_of_what_may_not_be_read(cast: Cast) -> None:
    from asgiref.sync import sync_to_async

    add = sync_to_async(add_document)
    await add(tenant=cast.acme, title="Hours", text="The shop opens at nine.", is_trusted=True)
    secret = await add(tenant=cast.acme, title="Merger plan", text=SECRET, is_trusted=True)
    wages = await add(tenant=cast.acme, title="Wage plan", text="Wages rise.", is_trusted=True)
    alice = context_of(cast.acme, cast.alice)
    assert (await described(alice)).endswith("Among them: Hours; Merger plan; Wage plan.")
    await sync_to_async(put)(cast.acme, secret, roles=["admin"])
    assert (await described(alice)).endswith("Among them: Hours; Wage plan.")
    assert "Merger plan" in await described(context_of(cast.acme, cast.amy))
    await sync_to_async(put)(cast.acme, wages, roles=["admin"])
    assert await described(alice) == "There is 1 in English. Among them: Hours."


def test_sources_of_answers_go_with_the_permission(cast: Cast, merger: Document) -> None:
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    passages: Any = {7: [{"source_id": f"doc-{merger.pk}.1"}, {"source_id": "file-3.1"}]}
    assert visible_sources(member=member, assistant="support", passages=passages) == passages
    put(cast.acme, merger, roles=["admin"])
    left = visible_sources(member=member, assistant="support", passages=passages)
    assert left == {7: [{"source_id": "file-3.1"}]}


def test_words_are_as_rare_as_in_what_may_be_read(cast: Cast, merger: Document) -> None:
    def scores() -> list[float]:
        from assistant.services.knowledge.full_text import search

        found = search(reach=reach_of(context_of(cast.acme, cast.alice)), queries=["shop opens"], limit=5)
        return [hit.score for hit in found]

    put(cast.acme, merger, roles=["admin"])
    before = scores()
    for number in range(9):
        put(cast.acme, add_document(tenant=cast.acme, title=f"S{number}", text="shop"), roles=["admin"])
    assert scores() == before


def test_a_search_where_no_collection_is_needs_no_more_queries(cast: Cast, merger: Document) -> None:
    alice = context_of(cast.acme, cast.alice)

    def queries() -> int:
        call(search_docs, alice, queries=["merger Initech"])
        with CaptureQueriesContext(
            connection,
        ) as asked:
            call(search_docs, alice, queries=["merger Initech"])
        return len(asked)

    with_rule = queries()
    rule = "assistant.contrib.collections.services.access.narrowing_of"
    _rules.remove(rule)
    try:
        without = queries()
    finally:
        narrow_with(rule)
    # One asks for collections. Others, with and without them, ask for documents of the project's rows, for labels of
    # questions, and for doubts about the trusted document that was found.
    assert (with_rule, without) == (11, 10)


def test_placing_is_of_the_tenants_own_alone_and_audited(cast: Cast, merger: Document) -> None:
    theirs = add_document(tenant=cast.globex, title="Theirs", text="Text.")
    ours = put(cast.acme)
    foreign = Collection.objects.create(tenant=cast.globex, name="Foreign")
    for documents, collection in (([theirs.pk], ours), ([merger.pk], foreign), ([merger.pk, 2**40], ours)):
        with pytest.raises(PlacingError):
            place_documents(tenant=cast.acme, document_ids=documents, collection=collection, actor=cast.amy)
    assert not CollectedDocument.objects.exists()
    assert place_documents(tenant=cast.acme, document_ids=[merger.pk], collection=ours, actor=cast.amy) == 1
    assert place_documents(tenant=cast.acme, document_ids=[merger.pk], collection=ours, actor=cast.amy) == 0
    entry = AuditEntry.objects.get(action="collection.place")
    assert (entry.tenant_id, entry.actor_id, entry.details["documents"]) == (cast.acme.pk, cast.amy.pk, [merger.pk])


def test_a_collection_with_documents_is_not_deleted_and_goes_with_its_tenant(cast: Cast, merger: Document) -> None:
    from django.db.models import RestrictedError

    collection = put(cast.acme, merger, roles=["admin"])
    with pytest.raises(RestrictedError):
        collection.delete()
    assert not Reach(cast.globex.pk).documents().exists()
    cast.acme.delete()
    assert not Collection.objects.exists()


def test_a_collection_that_code_gives_an_assistant_is_for_nobody_once_that_is_deleted(
    cast: Cast, merger: Document
) -> None:
    legal = make_assistant(cast.acme, "legal")
    board = make_assistant(cast.acme, "board")
    first = put(cast.acme, merger)
    first.assistants.add(legal)
    assert Collection.objects.get(pk=first.pk).for_chosen_assistants
    legal.delete()
    assert not finds(context_of(cast.acme, cast.amy, assistant="support"), merger)
    # Past the signals of the relation.
    second = Collection.objects.create(tenant=cast.acme, name="Second")
    place_documents(tenant=cast.acme, document_ids=[merger.pk], collection=second, actor=None)
    Collection.assistants.through.objects.create(collection=second, assistant=board)
    board.delete()
    assert not finds(context_of(cast.acme, cast.amy, assistant="support"), merger)

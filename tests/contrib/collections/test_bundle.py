"""Collections in bundles: a tenant's go to another deployment with their conditions, and never more open."""

from __future__ import annotations

import json

import pytest

from assistant.contrib.bundles.services.export import bundle_of_tenant, text_of
from assistant.contrib.bundles.services.format import BundleError
from assistant.contrib.bundles.services.imports import import_bundle
from assistant.contrib.bundles.services.reading import read_bundle
from assistant.contrib.collections.models import Collection
from assistant.contrib.collections.services.placing import place_documents
from assistant.services.knowledge.documents import add_document
from tests.base import Cast
from tests.factories import make_assistant

pytestmark = pytest.mark.django_db


def carried(cast: Cast, **changes: object) -> list[str]:
    """Import Acme's configuration at Globex; return what was done with its collections."""
    text = json.loads(text_of(bundle_of_tenant(tenant=cast.acme)))
    for one in text.get("collections", []):
        one.update(changes)
    bundle = read_bundle(json.dumps(text).encode())
    difference = import_bundle(bundle=bundle, tenant=cast.globex, actor=cast.root)
    return [one.kind for one in difference.entries if one.section == "collection"]


def test_a_collection_goes_with_its_conditions_and_without_documents(cast: Cast) -> None:
    document = add_document(tenant=cast.acme, title="Secret plan", text="Text.")
    ours = Collection.objects.create(tenant=cast.acme, name="Plans", roles=["owner"], permission="auth.view_group")
    ours.assistants.add(cast.support)
    place_documents(tenant=cast.acme, document_ids=[document.pk], collection=ours, actor=None)
    assert "Secret plan" not in text_of(bundle_of_tenant(tenant=cast.acme))
    Collection.objects.create(tenant=cast.globex, name="Only here")
    assert carried(cast) == ["create", "kept"]
    row = Collection.objects.get(tenant=cast.globex, name="Plans")
    assert (row.roles, row.permission, row.for_chosen_assistants) == (["owner"], "auth.view_group", True)
    assert list(row.assistants.all()) == [cast.rival_support]
    assert carried(cast) == ["same", "kept"]


def test_one_for_an_assistant_that_is_missing_arrives_closed(cast: Cast) -> None:
    ours = Collection.objects.create(tenant=cast.acme, name="Plans")
    ours.assistants.add(make_assistant(cast.acme, "legal"))
    assert carried(cast, assistants=["gone"], for_chosen_assistants=False) == ["create", "by_hand"]
    row = Collection.objects.get(tenant=cast.globex)
    assert row.for_chosen_assistants and not row.assistants.exists()


def test_what_is_no_collection_is_refused(cast: Cast) -> None:
    Collection.objects.create(tenant=cast.acme, name="Plans")
    with pytest.raises(BundleError):
        carried(cast, roles=["king"])
    assert carried(cast, permission="everything") == ["refused"]
    assert not Collection.objects.filter(tenant=cast.globex).exists()

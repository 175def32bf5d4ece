"""Saved prompts in the REST API: whose they are, what they fill in, their bounds, and nothing of anybody else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from assistant.contrib.saved_prompts.models import SavedPrompt
from assistant.contrib.saved_prompts.services import managing
from assistant.models import AuditEntry, Membership
from assistant.services import composer_parts
from assistant.services.privacy.leaving import end_memberships
from assistant.services.tenancy.members import find_member
from tests.base import Cast

pytestmark = pytest.mark.django_db
ROOT = "/api/v1/tenants/acme/saved-prompts/"
GIVEN = {"name": "Reply", "text": "Write to {{ customer }} about {{ matter }}."}


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def post(user: Any, given: dict[str, Any], address: str = "", root: str = ROOT) -> Any:
    return signed_in(user).post(root + address, given, content_type="application/json")


def names(user: Any, query: str = "", root: str = ROOT) -> list[str]:
    return [one["name"] for one in signed_in(user).get(root + query).json()]


def test_a_prompt_is_saved_listed_read_changed_used_and_deleted(cast: Cast) -> None:
    made = post(cast.alice, GIVEN).json()
    assert (made["variables"], made["is_shared"], made["uses"]) == (["customer", "matter"], False, 0)
    (listed,) = signed_in(cast.alice).get(ROOT).json()
    assert listed == {name: value for name, value in made.items() if name != "text"}
    address = f"{made['id']}/"
    used = post(cast.alice, {"values": {"customer": "{{ matter }}", "matter": "tents"}}, f"{address}uses/")
    assert (used.status_code, used.json()) == (201, {"text": "Write to {{ matter }} about tents."})
    alices = signed_in(cast.alice)
    changed = alices.patch(ROOT + address, {"name": "Answer"}, content_type="application/json").json()
    assert (changed["name"], changed["text"], changed["uses"]) == ("Answer", GIVEN["text"], 1)
    assert alices.delete(ROOT + address).status_code == 204
    assert alices.get(ROOT + address).status_code == 404
    recorded = AuditEntry.objects.filter(tenant=cast.acme, action__startswith="savedprompt.").order_by("pk")
    assert [one.action for one in recorded] == ["savedprompt.add", "savedprompt.change", "savedprompt.delete"]
    assert not [one for one in recorded if "Reply" in one.target or "Answer" in one.target]


def test_what_is_the_tenants_is_for_all_its_members_and_its_admins_change_it(cast: Cast) -> None:
    shared = GIVEN | {"is_shared": True}
    assert post(cast.alice, shared).status_code == 403
    made = post(cast.amy, shared).json()
    assert names(cast.alice) == names(cast.amy) == ["Reply"]
    alices = signed_in(cast.alice)
    address = f"{ROOT}{made['id']}/"
    seen = alices.get(address).json()
    assert (seen["may_change"], seen["uses"]) == (False, None)
    assert alices.patch(address, {"name": "x"}, content_type="application/json").status_code == 403
    assert alices.delete(address).status_code == 403
    assert post(cast.alice, {"values": {"customer": "a", "matter": "b"}}, f"{made['id']}/uses/").status_code == 201
    assert signed_in(cast.amy).get(address).json()["uses"] == 1
    assert AuditEntry.objects.get(action="savedprompt.add").target == "Reply"


def test_what_is_ones_own_is_nobody_elses(cast: Cast) -> None:
    made = post(cast.alice, GIVEN).json()
    for user, root in ((cast.amy, ROOT), (cast.mallory, ROOT), (cast.mallory, ROOT.replace("acme", "globex"))):
        client = signed_in(user)
        address = f"{root}{made['id']}/"
        assert client.get(address).status_code == 404
        assert client.patch(address, {"name": "x"}, content_type="application/json").status_code == 404
        assert client.delete(address).status_code == 404
        assert post(user, {"values": {}}, f"{made['id']}/uses/", root).status_code == 404
    assert names(cast.amy) == names(cast.mallory, root=ROOT.replace("acme", "globex")) == []
    assert post(cast.mallory, GIVEN).status_code == 404


def test_visitors_have_none(cast: Cast) -> None:
    post(cast.amy, GIVEN | {"is_shared": True})
    alice = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert alice is not None and managing.prompts_of(alice).exists()
    member = replace(alice, role=Membership.Role.END_USER)
    assert not managing.prompts_of(member).exists()
    with pytest.raises(managing.PromptRefused):
        managing.make_prompt(member=member, values=GIVEN, is_shared=False)
    offered = [
        [part["url"] for part in composer_parts.composer_parts(member=one, assistant_slug="support")]
        for one in (alice, member)
    ]
    assert [ROOT in urls for urls in offered] == [True, False]


def test_a_search_has_all_its_words_in_name_or_description(cast: Cast) -> None:
    for name, about in (("Reply", "to a complaint"), ("Offer", "for a customer"), ("Summary", "")):
        post(cast.alice, {"name": name, "description": about, "text": "x"})
    assert names(cast.alice, "?search=reply+complaint") == ["Reply"]
    assert names(cast.alice, "?search=reply+customer") == []
    assert names(cast.alice, "?limit=2") == ["Offer", "Reply"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": " ", "text": "x"},
        {"name": "n" * 61, "text": "x"},
        {"name": "n", "text": ""},
        {"name": "n", "text": "\n"},
        {"name": "n", "text": "x" * 8001},
        {"name": "n", "text": "Dear {{ }}"},
        {"name": "n", "text": "Dear {{ one"},
        {"name": "n", "text": "".join(f"{{{{ v{number} }}}}" for number in range(11))},
        {"name": "n", "text": "x", "is_shared": "yes"},
    ],
)
def test_what_cannot_be_a_prompt_is_refused(cast: Cast, wrong: dict[str, Any]) -> None:
    answer = post(cast.amy, wrong)
    assert answer.status_code == 400, answer.content
    assert not SavedPrompt.objects.exists()


@pytest.mark.parametrize("values", [{}, {"customer": "a"}, {"customer": "a", "matter": " "}, {"customer": "x" * 4001}])
def test_a_use_without_its_values_is_refused_and_not_counted(cast: Cast, values: dict[str, str]) -> None:
    made = post(cast.alice, GIVEN).json()
    assert post(cast.alice, {"values": values}, f"{made['id']}/uses/").status_code == 400
    extra = {"customer": "a", "matter": "b", "other": "c"}
    assert post(cast.alice, {"values": extra}, f"{made['id']}/uses/").status_code == 400
    assert SavedPrompt.objects.get().uses == 0


def test_a_name_is_there_once_and_a_number_is_the_limit(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    assert post(cast.alice, GIVEN).status_code == 201
    assert post(cast.alice, GIVEN).status_code == 409
    for _ in range(2):
        status = post(cast.amy, GIVEN | {"is_shared": True}).status_code
    assert status == 409
    monkeypatch.setattr(managing, "MAX_OWN", 1)
    assert post(cast.alice, GIVEN | {"name": "Other"}).status_code == 409
    assert SavedPrompt.objects.count() == 2


def test_what_is_ones_own_goes_with_the_membership(cast: Cast) -> None:
    post(cast.alice, GIVEN)
    post(cast.amy, GIVEN | {"is_shared": True})
    post(cast.mallory, GIVEN, root=ROOT.replace("acme", "globex"))
    end_memberships(actor=cast.amy, memberships=Membership.objects.filter(user=cast.alice))
    left = {(one.tenant_id, one.user_id) for one in SavedPrompt.objects.all()}
    assert left == {(cast.acme.pk, None), (cast.globex.pk, cast.mallory.pk)}

"""Each planted fault is a group, and little else is one."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from assistant.contrib.improvements.models import ProblemGroup
from assistant.contrib.improvements.services.grouping import group_tenant
from assistant.contrib.improvements.services.groups import lines_of
from tests.base import Cast
from tests.contrib.improvements.faults import CASES, FAMILIES, Maker, plant

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def found(cast: Cast) -> list[tuple[str, str, int]]:
    now = timezone.now()
    while group_tenant(tenant_id=cast.acme.pk, now=now + timedelta(minutes=1)):
        pass
    lines = lines_of(ProblemGroup.objects.filter(tenant=cast.acme), now=now)
    return [(line.group.signature, line.group.subject, line.cases) for line in lines]


def test_each_planted_fault_is_a_group_and_nothing_else_is(cast: Cast) -> None:
    plant(Maker(cast, seed=1, now=timezone.now()))
    assert sorted(found(cast)) == sorted((family.signature, family.subject, CASES) for family in FAMILIES)


@pytest.mark.parametrize("seed", [2, 3])
def test_of_what_goes_wrong_by_chance_few_groups_are_made(cast: Cast, seed: int) -> None:
    plant(Maker(cast, seed=seed, now=timezone.now(), mishaps=0.05))
    lines = found(cast)
    wanted = Counter((family.signature, family.subject) for family in FAMILIES)
    large = Counter((signature, subject) for signature, subject, cases in lines if cases >= CASES)
    print(f"seed {seed}: found {sum((wanted & large).values())} of {len(FAMILIES)}; others: {sorted(lines)}")
    assert wanted - large == Counter()
    assert len(lines) - len(FAMILIES) <= 3

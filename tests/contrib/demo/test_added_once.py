"""What apps add is added once, although Django may call `ready` again when INSTALLED_APPS is overridden."""

from __future__ import annotations

from django.apps import apps

from assistant.contrib.bundles.services.part_modules import part_modules
from assistant.contrib.demo.seeds.added import added_seeds


def test_seeds_and_parts_of_bundles_are_added_once() -> None:
    before = added_seeds(), part_modules()
    assert all(before)
    for label in ("assistant_demo", "assistant_bundles"):
        apps.get_app_config(label).ready()
    assert (added_seeds(), part_modules()) == before

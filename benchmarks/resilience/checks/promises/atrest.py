"""Secrets at rest: in a dump of the database, after a rotation of the keys, and on the pages of the admin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.pytests import failed, on_postgres

TITLE = "Secrets at rest"
HOW = (
    "Every encrypted field of every model gets a secret of its own. These are searched in a dump and in SQLite's "
    "files, on every page of the admin, in forms that are shown again, in the history, sessions and exports. Then the "
    "keys are rotated, also with an interruption, and everything is read with the new key alone. On SQLite and "
    "PostgreSQL: tests/contrib/deploy/test_key_rotation.py, tests/contrib/panel/settings/test_secrets.py, "
    "tests/contrib/panel/settings/test_secrets_unseen.py."
)
DUMPED, UNREAD, SHOWN = (
    "tests that found a secret in a dump or in the database's files",
    "tests that could not read every secret after a rotation",
    "tests that found a secret in the admin or in an export",
)
_ENCRYPTION, _ADMIN, _UNSEEN = (
    "tests/contrib/deploy/test_key_rotation.py",
    "tests/contrib/panel/settings/test_secrets.py",
    "tests/contrib/panel/settings/test_secrets_unseen.py",
)
TESTS: Mapping[str, Sequence[str]] = {
    DUMPED: (
        f"{_ENCRYPTION}::test_every_field_named_as_a_secret_is_encrypted",
        f"{_ENCRYPTION}::test_a_dump_holds_no_secret",
    ),
    UNREAD: (
        f"{_ENCRYPTION}::test_after_a_rotation_all_secrets_are_readable_and_the_old_key_reads_none",
        f"{_ENCRYPTION}::test_an_interrupted_rotation_continues",
        f"{_ENCRYPTION}::test_the_command_fails_if_no_key_reads_a_value",
    ),
    SHOWN: (
        f"{_ADMIN}::test_a_providers_key_is_stored_encrypted_and_never_shown",
        f"{_ADMIN}::test_a_tools_secrets_are_never_shown",
        f"{_ADMIN}::test_a_key_is_shown_once_and_works",
        f"{_UNSEEN}::test_no_page_shows_a_stored_secret",
        f"{_UNSEEN}::test_a_form_shown_again_contains_no_secret",
        f"{_UNSEEN}::test_saving_leaves_no_secret_in_history_or_session",
        f"{_UNSEEN}::test_no_export_contains_a_secret",
    ),
}


def store_in_the_clear() -> None:
    """Secrets are stored in plain text."""
    from django.db.models import TextField

    from assistant.models.fields import EncryptedTextField

    EncryptedTextField.get_prep_value = TextField.get_prep_value  # type: ignore[method-assign]
    EncryptedTextField.from_db_value = lambda self, value, *_: value  # type: ignore[method-assign]


def renew_nothing() -> None:
    """A rotation assumes that every value is encrypted with the new key already."""
    from assistant.contrib.deploy import key_rotation

    key_rotation.can_decrypt = lambda key, stored: True


def show_what_was_entered() -> None:
    """A form that is shown again shows the secret that was entered."""
    from django import forms

    from assistant.admin.base.secret_fields import SecretTextarea

    SecretTextarea.format_value = forms.Textarea.format_value  # type: ignore[method-assign]


FAULTS = (
    Fault("secrets are stored in plain text", DUMPED, store_in_the_clear),
    Fault("a rotation re-encrypts nothing", UNREAD, renew_nothing),
    Fault("a form shows the secret that was entered", SHOWN, show_what_was_entered),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    wanted = [testbed.fault.misses] if testbed.fault else list(TESTS)
    tests = [test for what in wanted for test in TESTS[what]]
    bad = [name for env in ({}, on_postgres(testbed)) for name in failed(tests, testbed.fault, env)]
    return [_line(what, bad) for what in wanted]


def _line(what: str, bad: Sequence[str]) -> Line:
    own = [test.rpartition("::")[2] for test in TESTS[what]]
    found = [name for name in bad if name in own]
    beside = ", ".join(sorted({*found})) or f"of {len(own)}, on both databases"
    return Line(what, len(found), "", 0, beside=beside)

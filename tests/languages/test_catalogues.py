"""Translations are right, and what is made of them is what they say. English is enough to merge; `make release-check`
lists what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from babel.messages.catalog import Catalog

from assistant.services.languages import own_languages
from config.languages import OFFERED
from tests.translation import catalogues
from tests.translation.catalogues import LANGUAGES, Name, compiled, missing, names_for, problems
from tests.translation.extraction import ROOT, templates

ALL = [(language, name) for language in LANGUAGES for name in names_for(language)]
I18N = (ROOT / "assistant/static/assistant/js/i18n.js").read_text()


@pytest.fixture(scope="module")
def sources() -> dict[Name, Catalog]:
    return templates()


@pytest.mark.parametrize(("language", "name"), ALL)
def test_the_translations_of_a_catalogue_are_right(language: str, name: Name) -> None:
    assert list(problems(language, name)) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_made_of_a_catalogue_is_up_to_date(language: str) -> None:
    stale = [path.name for path, content in compiled(language).items() if path.read_bytes() != content]
    assert stale == [], "run `make messages`"


def test_all_that_is_offered_is_there() -> None:
    assert set(own_languages()) == set(OFFERED) == {"en", *LANGUAGES}
    assert all(f'"{language}"' in I18N for language in LANGUAGES)


def test_what_pages_show_is_not_left_to_the_panel(sources: dict[Name, Catalog]) -> None:
    assert "Your settings are saved." in sources["pages"]
    assert "Owner" in sources["pages"]
    assert "Sent after this answer" in sources["browser"]
    assert "Control panel" in sources["pages"]
    assert not {str(one.id) for one in sources["panel"]} & {str(one.id) for one in sources["pages"]} - {""}


GOOD = """
msgid ""
msgstr ""
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

msgid "Hello, <b>%(name)s</b>"
msgstr "Hallo, <b>%(name)s</b>"

msgid "%(count)s file"
msgid_plural "%(count)s files"
msgstr[0] "eine Datei"
msgstr[1] "%(count)s Dateien"
"""


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("Hallo", "Hallo", ""),
        ('msgstr "Hallo, <b>%(name)s</b>"', 'msgstr ""', "is not translated"),
        ('msgstr[1] "%(count)s Dateien"', 'msgstr[1] ""', "is not translated"),
        ('msgid "Hello', '#, fuzzy\nmsgid "Hello', "is marked fuzzy"),
        ('<b>%(name)s</b>"\n\nmsgid "%', '<b>%(namen)s</b>"\n\nmsgid "%', "unknown placeholder"),
        ("%(count)s Dateien", "Dateien", "lacks the placeholder"),
        ("Hallo, <b>", "Hallo, <i>", "has other tags"),
        ("Hallo, ", " Hallo, ", "begins or ends with other spaces"),
        ('msgid "Hello, <b>', 'msgid "Good day, <b>', "lacks Hello"),
        ('msgid "Hello, <b>', 'msgid "Good day, <b>', "which nothing uses"),
    ],
)
def test_a_catalogue_with_a_fault_is_found(
    old: str, new: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert old in GOOD
    monkeypatch.setattr(catalogues, "LOCALE", tmp_path)
    monkeypatch.setattr(catalogues, "ROOT", tmp_path)
    wanted = Catalog()
    wanted.add("Hello, <b>%(name)s</b>")
    wanted.add(("%(count)s file", "%(count)s files"))
    path = catalogues.path_of("de", "pages")
    path.parent.mkdir(parents=True)
    path.write_text(GOOD.replace(old, new, 1))
    found = [*problems("de", "pages"), *missing("de", "pages", wanted)]
    assert problem in "\n".join(found)
    assert bool(found) == bool(problem)

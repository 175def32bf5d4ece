"""Words by the language of a text: the same stems whatever the database."""

from __future__ import annotations

import pytest

from assistant.services.knowledge.stems import LANGUAGES, MAX_WORD, language_of, stem, stems, stop_words


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Turn the valve twice.", "en"),
        ("Wer trägt die Kosten des Dienstwagens?", "de"),
        ("¿Cuánto cuesta cargar un coche eléctrico?", "es"),
        ("Les congés payés sont de 25 jours par an.", "fr"),
        ("De kosten van het pakket zijn voor de klant.", "nl"),
        ("I costi della spedizione sono a carico del cliente.", "it"),
        ("O cliente não paga os custos do envio.", "pt"),
        ("Что делать, если товар не пришёл?", "ru"),
        ("日本語の文書", ""),
        ("", ""),
    ],
)
def test_the_language_of_a_text_is_told_by_its_stop_words(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("en", ["refund", "refunds", "refunded", "refunding"]),
        ("de", ["kosten", "koste"]),
        ("de", ["Häuser", "Häusern", "Hauser"]),
        ("es", ["devolución", "devolucion"]),
        ("fr", ["congés", "congé"]),
    ],
)
def test_forms_of_a_word_have_one_stem(language: str, forms: list[str]) -> None:
    assert len({next(stems(form, language)) for form in forms}) == 1


def test_german_words_are_not_cut_as_english_ones() -> None:
    assert stem("spesen", "de") == stem("spese", "de")
    assert stem("ausweis", "de") != stem("ausweis", "de")[:-1]
    assert stem("buchung", "de") == stem("buchungen", "de") != stem("buchungen", "en")


def test_joined_words_with_digits_are_also_one_word() -> None:
    assert list(stems("AB-1200/x wi-fi", "en")) == ["ab", "1200", "x", "ab1200x", "wi", "fi"]


def test_scripts_without_blanks_are_pairs_of_letters() -> None:
    assert list(stems("日本語", "")) == ["日本", "本語"]


@pytest.mark.parametrize("text", ["a" * 100_000, "a-" * 50_000, "é" * 1000, "²³ ½ ﬁ Å İ ß", "\x00 \ud800 \u200b"])
def test_stems_are_short_and_of_letters_and_digits(text: str) -> None:
    for one in stems(text, "en"):
        assert one.isalnum() and len(one) <= MAX_WORD


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_stop_words(language: str) -> None:
    assert len(stop_words(language)) > 40

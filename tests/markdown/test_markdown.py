"""Markdown in blocks: the same blocks for any chunks, rendered like the whole text, and safe."""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.markdown import highlight
from assistant.markdown.block_splitter import BlockSplitter, split_blocks
from assistant.markdown.highlight import LANGUAGES
from assistant.markdown.render import _MARKDOWN, render_block, render_blocks
from tests.toolkit.reference import at_most

PIECES = [
    *("a", "b c", "foo ", "- ", "* ", "1. ", "5. ", "2) ", "\n", "\n\n", "    ", "  ", " ", "```", "```\n", "~~~\n"),
    *("~~~~\n", "````py\n", "# ", "## x\n", "> ", "> a\n", "| a | b |\n", "|---|---|\n", "a|b\n", "---\n", "===\n"),
    *("***\n", "- a\n", "1. x\n", "  - n\n", "   text\n", "-\n", "\t", "\\", "<div>\n", "\r\n", "\r", "`", "[a](b) "),
    *("$$\n", "$$", "$x$ ", "\\[\n", "\\]", "[^1]: ", "[^1]"),
]
# A heading or a fence whose own line reads as a table's head once the next line has come.
UNFORESEEN = re.compile(r"^ {0,3}(#|~~~).*\|.*\r?\n? *[-|:]", re.MULTILINE)


def stream(text: str, sizes: Callable[[], int]) -> list[str]:
    splitter, found, position = BlockSplitter(), [], 0
    while position < len(text):
        size = sizes()
        found += splitter.feed(text[position : position + size])
        position += size
    return found + splitter.finish()


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.data())
@settings(max_examples=300, deadline=None)
def test_any_chunking_gives_the_same_blocks(text: str, data: st.DataObject) -> None:
    assert stream(text, lambda: data.draw(st.integers(1, 6))) == split_blocks(text)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@settings(max_examples=500, deadline=None)
def test_the_blocks_render_like_the_whole(text: str) -> None:
    if UNFORESEEN.search(text.replace("\r", "\n")):
        return
    assert "".join(_MARKDOWN.render(block) for block in split_blocks(text)) == _MARKDOWN.render(text)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@settings(max_examples=200, deadline=None)
def test_nothing_but_empty_lines_at_the_end_is_left_out(text: str) -> None:
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    blocks = "".join(split_blocks(text))
    assert plain.startswith(blocks)
    assert not plain[len(blocks) :].strip()


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("One.\n\nTwo", ["One.\n\n"]),
        ("# Title\nText", ["# Title\n"]),
        ("```py\nx\n\ny\n```\nafter", ["```py\nx\n\ny\n```\n"]),
        ("~~~~\n```\n~~~\n~~~~\nafter", ["~~~~\n```\n~~~\n~~~~\n"]),
        ("```\nnever closed\n\n# no title\n", []),
        ("- a\n\n  more of a\n- b\n", []),
        ("- a\n- b\n\nText", ["- a\n- b\n\n"]),
        ("1. a\n   ```\n   x\n\n   y\n   ```\n2. b\n\nText", ["1. a\n   ```\n   x\n\n   y\n   ```\n2. b\n\n"]),
        ("> a\n> b\n\nText", ["> a\n> b\n\n"]),
        ("| a |\n|---|\n| 1 |\n\nText", ["| a |\n|---|\n| 1 |\n\n"]),
        ("Text\n```\ncode", ["Text\n"]),
        ("Text\n---\nMore", ["Text\n---\n"]),
    ],
)
def test_a_block_is_returned_as_soon_as_it_is_closed(text: str, closed: list[str]) -> None:
    assert BlockSplitter().feed(text) == closed


def operations(text: str) -> int:
    """Count the function calls while the text streams in pieces of ten characters."""
    count = 0

    def note(_frame: object, _event: str, _arg: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(note)
    try:
        stream(text, lambda: 10)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("line", ["word ", "- a\nlazy\n", "- # a\nlazy\n", "x\n\n", "> a\nb\n", "a | b\n---\n5. x\n"])
@pytest.mark.parametrize("opening", ["", "```\n", "- a\n"])
def test_a_text_twice_as_long_costs_about_twice_as_much(opening: str, line: str) -> None:
    once, twice = operations(opening + line * 1000), operations(opening + line * 2000)
    assert twice < 2.6 * once


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=https://evil.example/x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<iframe src=//evil.example></iframe>",
    '<p style="background:url(https://evil.example)" id=x class=y>',
    "<form action=https://evil.example><input></form>",
    "<math><mtext><style><!--</style><img onerror=alert(1)>",
    "![x](https://evil.example/p.png)",
    "![x](data:image/png;base64,AAAA)",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java&#115;cript:alert(1))",
    "[x](vbscript:x)",
    "[x](data:text/html,x)",
    "[x](//evil.example/x)",
    "[x](/accounts/logout/)",
    "[x](#message)",
    "<javascript:alert(1)>",
    '```"><script>alert(1)</script>\nx\n```',
    "[x]: javascript:alert(1)",
    "| a |\n|--|\n| <img src=x onerror=alert(1)> |",
]
ALLOWED_TAG = re.compile(
    r"</?(a|blockquote|br|code|del|div|em|h[3-6]|hr|li|ol|p|pre|s|span|strong|sup|table|tbody|td|th|thead|tr|ul)"
    r'( (href="(https?:|mailto:)[^"]*"|title="[^"]*"|target="_blank"|rel="noopener noreferrer nofollow"|start="\d+"'
    r'|class="[\w -]*"|data-code=""|dir="(auto|ltr)"|tabindex="0"))*>'
)


@pytest.mark.parametrize("source", HOSTILE)
def test_hostile_text_becomes_only_harmless_tags(source: str) -> None:
    rendered = render_block(source)
    assert "<" not in ALLOWED_TAG.sub("", rendered)
    assert "<img" not in rendered


@given(st.lists(st.sampled_from([*HOSTILE, *PIECES, "\x00", "\ud800", "\u202e"]), max_size=12).map("".join))
@settings(max_examples=300, deadline=None)
def test_no_combination_of_hostile_text_produces_another_tag(text: str) -> None:
    for rendered in render_blocks(text):
        assert "<" not in ALLOWED_TAG.sub("", rendered)
        rendered.encode()


@given(st.text(alphabet=st.characters(), max_size=200))
@settings(max_examples=200, deadline=None)
def test_no_text_makes_rendering_fail(text: str) -> None:
    render_block(text).encode()


def test_a_link_names_its_host_unless_its_text_does() -> None:
    assert '<span class="host">(b.example)</span>' in render_block("[a](https://b.example/x)")
    assert "host" not in render_block("[b.example/x](https://b.example/x)")
    assert "(evil.example)" in render_block("[https://good.example](https://evil.example)")
    assert "(evil.example)" in render_block("[x](https://good.example@evil.example/)")
    assert "(evil.example:8443)" in render_block("[x](https://evil.example:8443)")


def test_a_link_opens_in_a_new_tab_without_referrer() -> None:
    rendered = render_block("[a](https://b.example)")
    assert 'target="_blank"' in rendered
    assert 'rel="noopener noreferrer nofollow"' in rendered


def test_an_image_becomes_a_link_to_it() -> None:
    rendered = render_block("![A cat](https://b.example/cat.png)")
    assert ">A cat</a>" in rendered
    assert "<img" not in rendered


def test_a_bare_address_becomes_a_link_without_the_sentences_punctuation() -> None:
    assert 'href="https://b.example/c(d)"' in render_block("(see https://b.example/c(d)).")


def test_code_is_coloured_by_classes_and_labelled() -> None:
    rendered = render_block("```python\nprint(1)\n```\n")
    assert '<span class="code-lang">python</span>' in rendered
    assert 'class="hl-nb"' in rendered
    assert "style=" not in rendered


def test_every_language_that_is_offered_can_be_coloured() -> None:
    for language in LANGUAGES:
        assert "code-lang" in render_block(f"```{language}\nx = 1\n```\n")


def test_columns_are_aligned_by_classes() -> None:
    rendered = render_block("| a | b |\n|:-:|--:|\n| 1 | 2 |\n")
    assert '<td class="center">1</td>' in rendered
    assert '<td class="right">2</td>' in rendered


def test_link_definitions_alone_are_shown() -> None:
    assert 'href="https://b.example/"' in render_block("[1]: https://b.example/\n")


def test_line_breaks_within_cells_are_kept() -> None:
    assert "<br>" in render_block("| a |\n|---|\n| 1<br>2 |\n")


def test_text_that_is_too_costly_is_shown_as_plain_text() -> None:
    assert render_block("[" * 50_000).startswith('<p class="plain" dir="auto">[')
    assert render_block("x" * 200_000).startswith('<p class="plain" dir="auto">x')


# Text for which a lexer took most of a second in one step, during which no other thread runs.
SLOW_CODE = {
    "words": "a " * 1_990,
    "a word and blanks": "\na" + " " * 3_900,
    "blank lines": "a;" + "\n" * 3_900,
    "one word": "<script>" + "a" * 3_900,
}


@pytest.mark.parametrize("code", SLOW_CODE.values(), ids=SLOW_CODE)
@pytest.mark.parametrize("language", ["c", "cpp", "ini", "html"])
def test_text_that_is_not_code_is_not_coloured_and_takes_no_time(code: str, language: str) -> None:
    with at_most(10.0):
        rendered = render_block(f"```{language}\n{code}\n```\n")
    assert 'class="hl-' not in rendered


def test_code_of_any_length_has_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    # A busy machine, or Python's garbage collector, may take a piece's processor time for itself.
    monkeypatch.setattr(highlight, "PIECE_SECONDS", 60.0)
    monkeypatch.setattr(highlight, "BLOCK_SECONDS", 60.0)
    lines = "int a(b);\n" * 4_000
    rendered = render_block(f"```c\n{lines}```\n")
    assert rendered.count('<span class="hl-nf">a</span>') == 4_000
    assert html.unescape(re.sub("<[^>]+>", "", rendered)).endswith(f"{lines}\n")


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("**注意：**運費", "<strong>注意：</strong>運費"),
        ("これは**「重要」**です", "<strong>「重要」</strong>です"),
        ("한국어**(強調)**를", "<strong>(強調)</strong>를"),
        ("snake_case_名前 と a_b_c", "snake_case_名前 と a_b_c"),
        ("a**(b)**c", "a**(b)**c"),
    ],
)
def test_emphasis_works_beside_cjk_punctuation(source: str, shown: str) -> None:
    assert shown in render_block(source)


@pytest.mark.parametrize("text", ["<http://a.b>", "- a\n", "*a*", "a\n", "[a](http://b.c) "])
def test_a_block_that_is_too_long_is_shown_as_it_is(text: str) -> None:
    source = text * (20_000 // len(text))
    with at_most(10.0):
        rendered = render_block(source)
    assert rendered.startswith('<p class="plain" dir="auto">')


@pytest.mark.parametrize(
    ("source", "formulas"),
    [
        (r"With $a_1*b*$ and \(x_2*y*\).", ["a_1*b*", "x_2*y*"]),
        ("It is:\n$$\na\n+ b\n- c\n= d\n$$\nand *more*", ["a\n+ b\n- c\n= d"]),
        ("- so:\n  \\[\n  x\n  + 1\n  \\]\n- then", ["x\n+ 1"]),
        ("设$x$为，$y$。", ["x", "y"]),
        ("| a |\n|---|\n| $x$ |", ["x"]),
        (r"It costs $5 and $6, US$7, $HOME/a:$PATH or \$8\$.", []),
        ("`$x$`\n\n```\n$$y$$\n```", []),
        ("$$\nnever ends\n\n- a", []),
        ("$$" + "x" * 2_001 + "$$", []),
    ],
)
def test_formulas_are_kept_as_they_are_and_prices_are_none(source: str, formulas: list[str]) -> None:
    shown = "".join(render_blocks(source))
    assert [html.unescape(one) for one in re.findall(r'<span class="formula[^>]*>([^<]*)<', shown)] == formulas


def test_a_footnote_is_shown_where_it_is_written() -> None:
    first, second = render_blocks("A[^1] b[^a-z]\n[^1]: *One*\n[^note]: https://example.com\n\n[^2]: Two")
    assert '<p dir="auto">A<sup>1</sup> b[^a-z]</p>' in first
    assert '<p class="footnote" dir="auto"><sup>1</sup> <em>One</em></p>' in first
    assert "<sup>note</sup> <a " in first and second.startswith('<p class="footnote" dir="auto"><sup>2</sup> Two')


def test_a_block_has_its_own_direction_and_code_has_none() -> None:
    assert render_block("`x = 1` هو *مثال*") == '<p dir="auto"><code dir="ltr">x = 1</code> هو <em>مثال</em></p>\n'
    assert render_block("- `a` ب\n\n  ج").startswith('<ul dir="auto">\n<li>\n<p><code dir="ltr">')
    assert '<div class="code" data-code="" dir="ltr">' in render_block("```\nx\n```")


def test_tasks_have_a_box_in_place_of_a_bullet_and_keys_look_like_keys() -> None:
    assert render_block("- [x] Done\n- [ ] **Not**\n- plain") == (
        '<ul dir="auto">\n<li class="task">☑ Done</li>\n'
        '<li class="task">☐ <strong>Not</strong></li>\n<li>plain</li>\n</ul>\n'
    )
    assert render_block("Press <kbd>Ctrl</kbd>, <KBD>a *b*</KBD> or <kbd>") == (
        '<p dir="auto">Press <kbd>Ctrl</kbd>, &lt;KBD&gt;a <em>b</em>&lt;/KBD&gt; or &lt;kbd&gt;</p>\n'
    )


def test_what_is_folded_away_is_one_block_with_blocks_in_it() -> None:
    text = "Before\n\n<details>\n<summary>More *of it*</summary>\n\n- a\n\n`b`\n\n</details>\n\nAfter"
    first, folded, last = render_blocks(text)
    assert folded.startswith('<details dir="auto"><summary>More <em>of it</em></summary><ul dir="auto">')
    assert (
        folded.rstrip().endswith('<p dir="auto"><code dir="ltr">b</code></p>\n</details>')
        and "After" in last
        and "Before" in first
    )
    assert render_blocks("<details>\n\nnever ends") == [
        '<details dir="auto"><summary>…</summary><p dir="auto">never ends</p>\n</details>'
    ]
    assert "<details" not in render_block("<details ontoggle=alert(1)>x</details>")
    assert "<details" not in render_block("    <details>x</details>")


def test_what_is_folded_away_for_very_long_is_plain_text() -> None:
    assert "<details" not in "".join(render_blocks("<details>\n" + "a *b*\n\n" * 5_000))

"""Known XSS vectors in a model's output, shown in a real browser."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.pytests import PLUGIN, failed, planted, printed

TITLE = "Hostile markup in a browser"
HOW = (
    "Over 300 vectors (scripts, event handlers, SVG, MathML, data and javascript URLs, CSS, forms, images and links "
    "that leak data, Markdown) as stored and streamed answers, reasoning, tools, files, titles and names, in the "
    "chat, the widget and every page of the admin, in Chromium with the content security policy switched off; every "
    "connection of the browser is recorded. The same on a page without sanitising: tests/browser/test_vectors."
)
RAN, ALIVE = (
    "places where a vector ran or sent a request to another host",
    "vectors that run on the unsanitised control page",
)
TRUSTING = "model text is not sanitised, and pages do not escape"
DOZENS = 24
_VECTORS = "tests/browser/test_vectors.py"
PLACES = (
    f"{_VECTORS}::test_stored_answers_thoughts_tools_and_files",
    f"{_VECTORS}::test_streamed_answers_and_the_same_after_a_reload",
    f"{_VECTORS}::test_titles_and_names",
    f"{_VECTORS}::test_every_page_of_the_admin",
    "tests/browser/test_widget.py::test_hostile_answers_run_nothing_and_request_nothing",
)
CONTROL = f"{_VECTORS}::test_the_control_page_shows_what_the_vectors_can_do"
TRUSTED = f"{_VECTORS}::test_a_site_that_trusts_is_caught_and_the_policy_alone_holds[False]"
_ALIVE = r"^vectors: (\d+); on the control page (\d+) ran, (\d+) asked other hosts$"
_TRUSTED = r"^vectors: without sanitising, policy False: (\d+) ran in the chat, (\d+) in the admin$"


def sanitise_the_control_page() -> None:
    """The control page sanitises as the product does."""
    from assistant.markdown.render import render_blocks

    control: Any = importlib.import_module("tests.browser.control")
    control.unsanitised = lambda vector: "".join(render_blocks(vector.text))


FAULTS = (
    Fault(TRUSTING, RAN),
    Fault("the control page is sanitised", ALIVE, sanitise_the_control_page),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    if testbed.has_fault(TRUSTING):
        return [_trusted()]
    if testbed.fault:
        return [_alive(testbed)]
    tried = PLACES[: testbed.scaled(len(PLACES))]
    bad = failed(tried, None, {})
    return [Line(RAN, len(bad), "", 0, beside=", ".join(bad) or f"of {len(tried)}"), _alive(testbed)]


def _trusted() -> Line:
    said = printed(_TRUSTED, TRUSTED, {})
    ran = [int(said[0][1]), int(said[0][2])] if said else []
    return Line(RAN, sum(map(bool, ran)), "", 0)


def _alive(testbed: Testbed) -> Line:
    said = printed(_ALIVE, CONTROL, planted(testbed.fault), *PLUGIN)
    if not said:  # not finished: neither holds the goal nor catches a fault
        return Line(ALIVE, DOZENS if testbed.fault else 0, "", DOZENS, True, beside="not finished")
    return Line(ALIVE, int(said[0][2]), "", DOZENS, True, beside=f"of {said[0][1]}; {said[0][3]} asked other hosts")

"""What a model says, shown in a real browser: the known vectors run nothing there, and ask nobody."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.pytests import PLUGIN, failed, planted, printed

TITLE = "Hostile markup in a browser"
HOW = (
    "Over 300 vectors (script, handlers, SVG, MathML, data and javascript addresses, CSS, forms, images and links that "
    "tell, tricks of Markdown) as stored and streamed answers, thoughts, tools, files, titles and names, in the chat, "
    "the widget and every page of the admin, in Chromium with the content security policy switched off; every "
    "connection that the browser opens is seen. The same on a page that nobody sanitises: tests/browser/test_vectors."
)
RAN, ALIVE = "places where a vector ran or asked another host", "vectors that run on the unsanitised control page"
TRUSTING = "model text is not sanitised, and pages escape nothing"
DOZENS = 24
_VECTORS = "tests/browser/test_vectors.py"
PLACES = (
    f"{_VECTORS}::test_stored_answers_thoughts_tools_and_files",
    f"{_VECTORS}::test_streamed_answers_and_the_same_after_a_reload",
    f"{_VECTORS}::test_titles_and_names",
    f"{_VECTORS}::test_every_page_of_the_admin",
    "tests/browser/test_widget.py::test_hostile_answers_run_nothing_and_ask_nobody",
)
CONTROL = f"{_VECTORS}::test_the_control_page_shows_what_the_vectors_can_do"
TRUSTED = f"{_VECTORS}::test_a_site_that_trusts_is_caught_and_the_policy_alone_holds[False]"
_ALIVE = r"^vectors: (\d+); on the control page (\d+) ran, (\d+) asked other hosts$"
_TRUSTED = r"^vectors: without sanitising, policy False: (\d+) ran in the chat, (\d+) in the admin$"


def sanitise_the_control_page() -> None:
    """The page that is to show what vectors can do is as harmless as the product's."""
    from assistant.services.markdown import render_blocks

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
    if not said:  # what broke off holds no goal, and catches no fault
        return Line(ALIVE, DOZENS if testbed.fault else 0, "", DOZENS, True, beside="it broke off")
    return Line(ALIVE, int(said[0][2]), "", DOZENS, True, beside=f"of {said[0][1]}; {said[0][3]} asked other hosts")

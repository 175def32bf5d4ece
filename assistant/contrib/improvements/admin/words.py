"""What the desk says of a group in words: what it is, and whether a change of it helped."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assistant.contrib.improvements.models import ProblemGroup, Signature
from assistant.contrib.improvements.services.outcomes import Verdict, Week

# What a signature counts, for people.
ABOUT: Mapping[str, str | Promise] = {
    Signature.TOOL_ERROR: gettext_lazy("Calls of a tool that failed or timed out."),
    Signature.MISREAD: gettext_lazy("Calls whose arguments did not fit the tool's schema."),
    Signature.REFUSAL: gettext_lazy("Calls that a rule refused, and questions that were declined."),
    Signature.KNOWLEDGE: gettext_lazy("Questions for which no document was found, and answers that people call wrong."),
    Signature.STYLE: gettext_lazy("Disliked answers in whose runs nothing else went wrong."),
    Signature.LOOP: gettext_lazy("Runs that made the same call three times or more."),
    Signature.CUT: gettext_lazy("Answers that were cut off, and runs that reached a limit."),
    Signature.LATENCY: gettext_lazy("Answers that took three times as long as usual, and 20 seconds at least."),
}
_KINDS: Mapping[tuple[str, str], str | Promise] = {
    (Signature.STYLE, "long"): gettext_lazy("Answers are too long"),
    (Signature.STYLE, "short"): gettext_lazy("Answers are too short"),
    (Signature.STYLE, "tone"): gettext_lazy("The tone is disliked"),
    (Signature.STYLE, "form"): gettext_lazy("The form is disliked"),
    (Signature.STYLE, "language"): gettext_lazy("It answers in another language"),
    (Signature.STYLE, ""): gettext_lazy("Disliked, without a reason that is known"),
    (Signature.KNOWLEDGE, ""): gettext_lazy("Nothing is found"),
    (Signature.KNOWLEDGE, "wrong"): gettext_lazy("Answers are called wrong"),
    (Signature.REFUSAL, ""): gettext_lazy("Questions are declined"),
    (Signature.CUT, "length"): gettext_lazy("Answers end at their length"),
    (Signature.CUT, "invalid_form"): gettext_lazy("Answers are not in the form that was asked for"),
    (Signature.CUT, "limit"): gettext_lazy("Runs reach a limit"),
    (Signature.LATENCY, ""): gettext_lazy("Answers are slow"),
}
_OF_TOOLS: Mapping[str, str | Promise] = {
    Signature.TOOL_ERROR: gettext_lazy("%(tool)s fails"),
    Signature.MISREAD: gettext_lazy("%(tool)s is called with wrong arguments"),
    Signature.REFUSAL: gettext_lazy("%(tool)s is refused"),
    Signature.LOOP: gettext_lazy("%(tool)s is called again and again"),
    Signature.LATENCY: gettext_lazy("%(tool)s is slow"),
}
VERDICTS: Mapping[Verdict, str | Promise] = {
    "early": gettext_lazy("It is too early to say"),
    "better": gettext_lazy("It helped"),
    "same": gettext_lazy("No difference that chance does not explain"),
    "worse": gettext_lazy("It became worse"),
}
MEASURES: Mapping[str, str | Promise] = {
    "failed_calls": gettext_lazy("Calls of it that failed"),
    "refused": gettext_lazy("Runs with a refused call"),
    "nothing_found": gettext_lazy("Runs that found nothing"),
    "thumbs_down": gettext_lazy("Disliked answers"),
    "failed": gettext_lazy("Runs that failed"),
    "cut": gettext_lazy("Answers that were cut off"),
    "whole_ms": gettext_lazy("Seconds to the end of an answer"),
}


def title_of(group: ProblemGroup) -> str:
    """Return what goes wrong, in words."""
    known = _KINDS.get((group.signature, group.subject))
    if known is not None:
        return str(known)
    of_tool = _OF_TOOLS.get(group.signature)
    return str(of_tool) % {"tool": group.subject} if of_tool is not None else str(group)


def value_of(measure: str, value: float | None) -> str:
    """Return a figure of the daily sums in words; "—" for none."""
    if value is None:
        return "—"
    if measure == "whole_ms":
        return _("%(seconds)s s") % {"seconds": number_format(round(value / 1_000, 1), 1)}
    return f"{number_format(round(100 * value, 1), 1)} %"


def cases_of_week(week: Week) -> str:
    """Return the cases of a week, with their share of the runs where these are counted."""
    if not week.runs:
        return number_format(week.cases)
    share = number_format(round(100 * week.cases / week.runs, 1), 1)
    return _("%(cases)s of %(runs)s runs (%(share)s %%)") % {
        "cases": number_format(week.cases),
        "runs": number_format(week.runs, force_grouping=True),
        "share": share,
    }

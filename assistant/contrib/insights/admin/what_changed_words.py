"""What the page "What changed?" says in words: shares, what speaks for a cause and against it, and how well it fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import get_language_info, gettext
from django.utils.translation import gettext_lazy as _

from assistant.contrib.insights.services.steps import Share
from assistant.contrib.insights.services.suspects import Suspect
from assistant.contrib.insights.services.traces import Dimension, Trace

# The score from which a cause fits well, and from which it may be one.
FITS_WELL = 0.75
FITS = 0.35
_SENTENCES: Mapping[str, str | Promise] = {
    "only": _("%(name)s: %(those)s; the others: %(others)s"),
    "not-only": _("without %(name)s it is no better: %(others)s"),
    "all": _("nearly all runs since are with %(name)s"),
    "new": _("runs with %(name)s began with it: %(those)s"),
    "none": _("no run since is with %(name)s"),
    "unused": _("hardly a run has used %(name)s"),
    "stopped": _("%(name)s is called in %(those_part)s of the runs, before in %(others_part)s"),
    "refused": _("%(name)s was refused in %(those_bad)s runs"),
    "used": _("%(name)s is called as before"),
    "over": _("it is over again, and nothing was changed back"),
    "fails": _("%(name)s: %(those)s"),
    "elsewhere": _("it shows with %(name)s alone: %(those)s"),
}
_PLACES: Mapping[Dimension, str | Promise] = {
    "language": _("questions in %(name)s"),
    "model": _("answers of %(name)s"),
    "tool": _("runs that call %(name)s"),
}
_SEEN: Mapping[str, str | Promise] = {
    "provider": _("The provider %(name)s fails"),
    "model": _("Another model answers: %(name)s"),
    "tool": _("The tool %(name)s fails"),
}


def percent(share: Share) -> str:
    """Return a share in per cent."""
    return f"{number_format(round(100 * share.part, 1), 1)} %"


def of_runs(share: Share) -> str:
    """Return a share with the number of runs: "31.2 % of 185"."""
    return gettext("%(percent)s of %(runs)s") % {
        "percent": percent(share),
        "runs": number_format(share.runs, force_grouping=True),
    }


def sentence_of(trace: Trace) -> str:
    """Return what speaks for a cause or against it; "" for what is no sentence."""
    if trace.word not in _SENTENCES:
        return ""
    those = trace.those or Share(0, 0)
    others = trace.others or Share(0, 0)
    return str(_SENTENCES[trace.word]) % {
        "name": trace.name,
        "those": of_runs(those),
        "others": of_runs(others),
        "those_part": percent(those),
        "others_part": percent(others),
        "those_bad": those.bad,
    }


def place_of(dimension: Dimension, trace: Trace) -> str:
    """Return where it shows: "questions in German (45 % of 80; the others: 5 % of 120)"."""
    names: dict[Dimension, Callable[[str], str]] = {"language": _language}
    name = names.get(dimension, str)(trace.name)
    where = str(_PLACES[dimension]) % {"name": name}
    shares = gettext("%(those)s; the others: %(others)s") % {
        "those": of_runs(trace.those or Share(0, 0)),
        "others": of_runs(trace.others or Share(0, 0)),
    }
    return f"{where} ({shares})"


def _language(code: str) -> str:
    try:
        return str(gettext(get_language_info(code)["name"]))
    except KeyError:
        return code


def title_of_seen(suspect: Suspect) -> str:
    """Return what is seen without a change."""
    return str(_SEEN[suspect.kind]) % {"name": suspect.seen}


def fit_of(suspect: Suspect) -> tuple[str, str]:
    """Return how well a cause fits, as a class and in words."""
    if suspect.score >= FITS_WELL:
        return "well", gettext("fits well")
    return ("maybe", gettext("may be it")) if suspect.score >= FITS else ("hardly", gettext("fits hardly"))

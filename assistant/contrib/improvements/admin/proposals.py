"""What could help against a group, by its signature: a line of the prompt, a tool, a document, a switch, a limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from django.http import HttpRequest
from django.urls import NoReverseMatch
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator, tenants_of
from assistant.contrib.improvements.models import ProblemGroup, Signature
from assistant.contrib.improvements.services.signatures import LIMIT, WRONG
from assistant.contrib.panel.admin.assistants.assistant_tabs import SETTINGS
from assistant.contrib.panel.admin.base.rooms import Link

Kind = Literal["tool", "document", "switch", "limit"]
KINDS: Mapping[Kind, str | Promise] = {
    "tool": gettext_lazy("A tool's description"),
    "document": gettext_lazy("A document"),
    "switch": gettext_lazy("A switch"),
    "limit": gettext_lazy("A limit"),
}


@dataclass(frozen=True, slots=True)
class Proposal:
    """Something to change elsewhere: of which kind, what to do, and where; no link where the user may not go there."""

    kind: Kind
    text: str
    link: Link | None

    @property
    def kind_name(self) -> str | Promise:
        return KINDS[self.kind]


@dataclass(frozen=True, slots=True)
class About:
    """A group with what proposals are made of.

    Attributes:
        question: the newest that the user may read; "" for none.
        said: what the newest case says went wrong, as far as the user may read it.
    """

    request: HttpRequest
    group: ProblemGroup
    question: str
    said: str


def proposals_of(about: About) -> list[Proposal]:
    """Return what could be changed besides the prompt; the first fits best."""
    return _PROPOSALS[about.group.signature](about)


def line_of(about: About) -> str:
    """Return the line that is proposed for the prompt; it names no variable."""
    group = about.group
    subject = group.subject
    if group.signature == Signature.STYLE:
        return str(_STYLES.get(subject, _STYLES[""]))
    if group.signature == Signature.CUT:
        return str(_CUTS.get(subject, _CUTS["length"]))
    if group.signature == Signature.KNOWLEDGE:
        return str(_WRONG if subject == WRONG else _UNKNOWN)
    if group.signature == Signature.REFUSAL and not subject:
        about_what = f" {_quoted(about.question)}" if about.question else ""
        return _("You may answer questions such as:%(question)s") % {"question": about_what or " …"}
    if group.signature == Signature.LATENCY and not subject:
        return _("Answer what was asked, without steps that nobody needs.")
    lines = {
        Signature.TOOL_ERROR: _(
            "If the tool %(tool)s fails, say that it is not available now, and offer to try again. Guess no result."
        ),
        Signature.MISREAD: _("Before you call %(tool)s, make sure of its arguments:%(said)s Ask if one is not known."),
        Signature.REFUSAL: _("You may not use %(tool)s here. Say so at once, and name who can help."),
        Signature.LOOP: _("Call %(tool)s once for the same question. If its result does not help, say so and ask."),
        Signature.LATENCY: _("Before you call %(tool)s, say that it takes a moment. Call it only if it is needed."),
    }
    said = _without_braces(about.said.removeprefix("Invalid arguments.").strip())
    return lines[Signature(group.signature)] % {"tool": subject, "said": f" {said}" if said else ""}


def _quoted(text: str) -> str:
    return f"“{_without_braces(text[:200])}”"


def _without_braces(text: str) -> str:
    # A prompt would take them for a variable's.
    return text.replace("{", "(").replace("}", ")")


_STYLES: Mapping[str, str | Promise] = {
    "long": gettext_lazy("Answer in at most three sentences, unless more is asked for."),
    "short": gettext_lazy("Answer with the steps and the reasons, not with one sentence."),
    "tone": gettext_lazy("Be friendly and plain; never lecture, and never blame the person."),
    "form": gettext_lazy("Write plain sentences; use a list or a table only where several things are compared."),
    "language": gettext_lazy("Answer in the language of the question."),
    "": gettext_lazy("Begin with the answer itself, then the reason. Ask if the question can mean two things."),
}
_CUTS: Mapping[str, str | Promise] = {
    "length": gettext_lazy("Keep an answer below 300 words. If there is more to say, offer to go on."),
    "invalid_form": gettext_lazy("Answer in the form that is asked for, with nothing before or after it."),
    LIMIT: gettext_lazy("Use as few tool calls as you can. If a task is large, do a part of it and offer to go on."),
}
_UNKNOWN = gettext_lazy("If the documents do not answer a question, say so in one sentence and name who can help.")
_WRONG = gettext_lazy("Say from which document an answer is. If documents differ, name both and do not choose.")


def _of_tool_error(about: About) -> list[Proposal]:
    return [
        Proposal("tool", _("Look at what %(tool)s answers, and mend it.") % _tool(about), _tool_link(about)),
        Proposal(
            "switch",
            _("While it fails, switch %(tool)s off with a reason: members are told.") % _tool(about),
            _board_link(about),
        ),
    ]


def _of_misread(about: About) -> list[Proposal]:
    said = f" {_quoted(about.said)}" if about.said else ""
    text = _("Say in the description of %(tool)s, or of its arguments, what it expects; it refused:%(said)s")
    return [Proposal("tool", text % {**_tool(about), "said": said or " …"}, _tool_link(about))]


def _of_refusal(about: About) -> list[Proposal]:
    if about.group.subject:
        text = _("Switch %(tool)s on for this assistant, or keep it from asking for it.") % _tool(about)
        return [Proposal("switch", text, _board_link(about))]
    return [Proposal("document", _("Write down what may be said about it."), _write_link(about))]


def _of_knowledge(about: About) -> list[Proposal]:
    if about.group.subject == WRONG:
        return [Proposal("document", _("Correct the document that the answer is from."), _documents_link(about))]
    return [
        Proposal("document", _("Write or upload the document that answers it."), _write_link(about)),
        Proposal("document", _("See all that documents do not answer, and label it."), _gaps_link(about)),
    ][: 2 if _gaps_link(about) is not None else 1]


def _of_style(about: About) -> list[Proposal]:
    return []


def _of_loop(about: About) -> list[Proposal]:
    return [
        Proposal("limit", _("Let it call each tool less often in one run."), _settings_link(about)),
        Proposal("tool", _("Let %(tool)s say in its result that asking again changes nothing.") % _tool(about), None),
    ]


def _of_cut(about: About) -> list[Proposal]:
    text = _("Raise the limit of a run: rounds, calls, tokens or seconds.")
    if about.group.subject == "length":
        text = _("Raise the tokens that one answer may have, in the provider's options, or choose another model.")
    return [Proposal("limit", text, _settings_link(about))]


def _of_latency(about: About) -> list[Proposal]:
    if about.group.subject:
        text = _("%(tool)s takes most of the time: let it answer with less, or later.") % _tool(about)
        return [Proposal("tool", text, _tool_link(about))]
    text = _("Send less of the conversation, or choose a faster model.")
    return [Proposal("limit", text, _settings_link(about))]


_PROPOSALS: Mapping[str, Callable[[About], list[Proposal]]] = {
    Signature.TOOL_ERROR: _of_tool_error,
    Signature.MISREAD: _of_misread,
    Signature.REFUSAL: _of_refusal,
    Signature.KNOWLEDGE: _of_knowledge,
    Signature.STYLE: _of_style,
    Signature.LOOP: _of_loop,
    Signature.CUT: _of_cut,
    Signature.LATENCY: _of_latency,
}


def _tool(about: About) -> dict[str, str]:
    return {"tool": about.group.subject}


def _board_link(about: About) -> Link | None:
    tenant = about.group.tenant
    if not tenants_of(about.request, "tools").filter(pk=tenant.pk).exists():
        return None
    return Link(_("Switchboard"), reverse("admin:switchboard_of_tenant", args=[tenant.slug]))


def _tool_link(about: About) -> Link | None:
    if not is_operator(about.request):
        return _board_link(about)
    return Link(_("The tool's page"), reverse("admin:tool_page", args=[about.group.subject]))


def _settings_link(about: About) -> Link | None:
    group = about.group
    if not SETTINGS.is_open(about.request, group.tenant_id):
        return None
    return Link(_("The assistant's settings"), SETTINGS.url(group.assistant_id))


def _write_link(about: About) -> Link | None:
    url = _page("admin:assistant_document_add")
    query = {"tenant": str(about.group.tenant_id), "title": about.question[:200]}
    return Link(_("Write or upload"), f"{url}?{urlencode(query)}") if url and _administers(about) else None


def _documents_link(about: About) -> Link | None:
    url = _page("admin:assistant_document_changelist")
    query = urlencode({"tenant__id__exact": str(about.group.tenant_id)})
    return Link(_("Documents"), f"{url}?{query}") if url and _administers(about) else None


def _gaps_link(about: About) -> Link | None:
    url = _page("admin:assistant_gaps_openquestion_changelist")
    query = urlencode({"tenant": str(about.group.tenant_id)})
    return Link(_("Gaps"), f"{url}?{query}") if url and _administers(about) else None


def _administers(about: About) -> bool:
    return tenants_of(about.request).filter(pk=about.group.tenant_id).exists()


def _page(name: str) -> str:
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""

"""The editor of an assistant's prompt: what it shows, and what its buttons do.

All buttons are in one form, so that each sends what was typed, and no answer loses it.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from assistant.admin.base.links import assistant_label
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import tenants_of
from assistant.admin.prompts import NOT_AS_SHOWN, problems_of
from assistant.contrib.panel.admin.assistants import assistant_tabs
from assistant.contrib.panel.admin.assistants.prompt_actions import act_on_version
from assistant.contrib.panel.admin.assistants.prompt_forms import EditorForm
from assistant.contrib.panel.admin.assistants.prompt_preview import preview_of, publication_of, users_of, version_of
from assistant.contrib.panel.admin.assistants.try_chat import is_tester, try_as_url, try_url
from assistant.contrib.panel.admin.base.added_links import added_links, shown_buttons
from assistant.contrib.panel.reports.version_figures import DAYS, figures_of
from assistant.contrib.panel.services.prompt_editor import save_typed, state_of
from assistant.contrib.panel.services.scheduled_prompts import failed_publications_of, publications_of
from assistant.core.values.history_window import estimate_tokens
from assistant.core.values.prompt_template import BUILT_IN
from assistant.models import Assistant, PromptVersion
from assistant.services.assistants.prompt_values import UnknownVariables, own_names
from assistant.services.assistants.prompts import lock_assistant, text_to_edit

# What a custom role needs to allow for these pages.
PERMISSION = "prompts"
VERSIONS_ON_A_PAGE = 20
# Names of the tenant's own variables that the page lists; their own list has the others.
MAX_NAMES = 100


def find_assistant(request: HttpRequest, pk: int) -> Assistant:
    """Return the assistant of a page about prompts. Raises `Http404` unless the user may change its prompts."""
    found = Assistant.objects.filter(pk=pk, tenant__in=tenants_of(request, PERMISSION)).select_related("tenant")
    assistant = found.first() if pk < 2**63 else None
    if assistant is None:
        raise Http404("There is no such assistant.")
    return assistant


def editor_url(assistant: Assistant, **query: int) -> str:
    """Return the address of the editor; `version` in the query is what it begins with."""
    url = reverse("admin:prompt_editor", args=[assistant.pk])
    return f"{url}?{urlencode(query)}" if query else url


def editor_view(request: HttpRequest, assistant: int) -> HttpResponse:
    """Show the editor, or do what the button that was pressed says."""
    found = find_assistant(request, assistant)
    if request.method != "POST":
        return _page(request, found, _initial_form(request, found))
    form = EditorForm(request.POST, tenant_id=found.tenant_id)
    verb, _colon, argument = request.POST.get("do", "").partition(":")
    if verb == "try-here":
        return _try_here(request, found, form)
    if verb in ("preview", "later") or (verb == "ask" and not argument and not form.is_valid()):
        return _page(request, found, form)
    if verb == "ask":
        return _page(request, found, form, asked=argument)
    if verb == "ask-at" and (at := request.POST.get(f"at-{argument}", "")):
        return _page(request, found, form, asked=argument, at=at)
    with transaction.atomic():
        lock_assistant(found.pk)
        if (again := _not_as_shown(request, found, form, verb, argument)) is not None:
            return again
        return _act(request, found, form, verb, argument)


def _not_as_shown(
    request: HttpRequest, assistant: Assistant, form: EditorForm, verb: str, argument: str
) -> HttpResponse | None:
    """Return the question again if a button of one was pressed, and what it showed has changed since; None to go on."""
    is_typed = verb == "publish-typed"
    at = request.POST.get("at", "") if verb == "schedule" else ""
    if not (at or verb == "publish" or (is_typed and form.is_valid())):
        return None
    number = "" if is_typed else str(version_of(assistant, argument).number)
    published = assistant.prompt_versions.filter(status=PromptVersion.Status.PUBLISHED).first()
    if publication_of(assistant, form, published, number, at).shown == request.POST.get("shown", ""):
        return None
    messages.warning(request, _(NOT_AS_SHOWN))
    return _page(request, assistant, form, asked=number, at=at)


def _act(request: HttpRequest, found: Assistant, form: EditorForm, verb: str, argument: str) -> HttpResponse:
    """Save what was typed, or do what a button beside a version says."""
    if verb in ("save", "publish-typed", "try", *shown_buttons(request)):
        version = _save(request, found, form, is_published=verb == "publish-typed")
        if version is None:
            return _page(request, found, form)
        if (url := _after_save(request, found, version, verb)) is not None:
            return HttpResponseRedirect(url)
        is_draft = version.status == PromptVersion.Status.DRAFT
        return HttpResponseRedirect(editor_url(found, version=version.number) if is_draft else editor_url(found))
    if not act_on_version(request, found, verb, argument):
        raise Http404("There is no such action.")
    if _is_unsaved(found, form):
        return _page(request, found, form, is_kept=True)
    return HttpResponseRedirect(request.get_full_path())


def _after_save(request: HttpRequest, assistant: Assistant, version: PromptVersion, verb: str) -> str | None:
    """Return the page to go on to with a saved draft, if the button names one."""
    if verb == "try":
        return try_url(request, assistant, version)
    buttons = shown_buttons(request)
    return buttons[verb].after(version) if verb in buttons else None


def _try_here(request: HttpRequest, assistant: Assistant, form: EditorForm) -> HttpResponse:
    """Save what was typed, and return the version to try beside it as JSON; problems as `problems` with status 400.

    A text that is published, or stored in the draft as it is, is saved no second time.
    """
    version = _draft(assistant, form)
    if version is None or _is_unsaved(assistant, form):
        text = str(form["text"].value() or "").replace("\r\n", "\n")
        published = assistant.prompt_versions.filter(status=PromptVersion.Status.PUBLISHED).first()
        is_published = published is not None and version is None and text_to_edit(published) == text
        version = published if is_published else _save(request, assistant, form, is_published=False)
        if not is_published:
            list(messages.get_messages(request))  # the answer says it; the next page need not
    if version is None:
        problems = [str(problem) for errors in form.errors.values() for problem in errors]
        return JsonResponse({"problems": problems}, status=400)
    is_draft = version.status == PromptVersion.Status.DRAFT
    return JsonResponse(
        {
            "version": version.pk,
            "number": version.number,
            "draft": version.pk if is_draft else None,
            "seen": state_of(version) if is_draft else "",
        }
    )


def _initial_form(request: HttpRequest, assistant: Assistant) -> EditorForm:
    """Return the form with the version that the address names, else the newest draft, else what is published."""
    versions = assistant.prompt_versions.order_by("-number")
    number = request.GET.get("version", "")
    named = versions.filter(number=int(number)) if number.isascii() and number.isdigit() and len(number) < 9 else None
    base = None if named is None else named.first()
    if base is None:
        published = versions.filter(status=PromptVersion.Status.PUBLISHED).first()
        newer = versions.filter(number__gt=published.number if published else 0)
        base = newer.filter(status=PromptVersion.Status.DRAFT).first() or published
    if base is None:
        return EditorForm(tenant_id=assistant.tenant_id)
    initial: dict[str, Any] = {"text": text_to_edit(base)}
    if base.status == PromptVersion.Status.DRAFT:
        initial |= {"note": base.note, "label": base.label, "draft": base.pk, "seen": state_of(base)}
    return EditorForm(initial=initial, tenant_id=assistant.tenant_id)


def _save(request: HttpRequest, assistant: Assistant, form: EditorForm, *, is_published: bool) -> PromptVersion | None:
    """Save what was typed; return the version, or None if the form is shown again with its errors."""
    if not form.is_valid():
        return None
    try:
        saved = save_typed(assistant=assistant, typed=form.typed(), is_published=is_published, actor=request.user)
    except UnknownVariables as exc:  # deleted since the form was checked
        form.add_error("text", ValidationError(problems_of(exc)))
        return None
    values = {"number": saved.version.number, "assistant": assistant_label(assistant)}
    if saved.is_apart:
        text = _("Somebody has changed, published or deleted that draft: what you typed is version %(number)s.")
        messages.warning(request, text % values)
    if is_published:
        text = _("Version %(number)s of %(assistant)s is published, and used from the next run on.")
    else:
        text = _("Version %(number)s of %(assistant)s is saved as a draft.")
    messages.success(request, text % values)
    return saved.version


def _draft(assistant: Assistant, form: EditorForm) -> PromptVersion | None:
    """Return the draft that a form is about, if it still is one."""
    pk = str(form["draft"].value() or "")
    is_number = pk.isascii() and pk.isdigit() and len(pk) < 19
    drafts = assistant.prompt_versions.filter(status=PromptVersion.Status.DRAFT)
    return drafts.filter(pk=int(pk)).first() if is_number else None


def _is_unsaved(assistant: Assistant, form: EditorForm) -> bool:
    """Whether the form has text that no version has, so that the page must show it again."""
    text = str(form["text"].value() or "").replace("\r\n", "\n")
    if not text.strip():
        return False
    draft = _draft(assistant, form)
    if draft is not None:
        shown = (text_to_edit(draft), draft.note, draft.label)
        return shown != (text, form["note"].value() or "", form["label"].value() or "")
    used = assistant.prompt_versions.exclude(status=PromptVersion.Status.DRAFT).order_by("-published_at")
    return all(text_to_edit(one) != text for one in used[:2])


def _page(
    request: HttpRequest,
    assistant: Assistant,
    form: EditorForm,
    *,
    is_kept: bool = False,
    asked: str | None = None,
    at: str = "",
) -> HttpResponse:
    """Show the editor.

    Args:
        is_kept: whether to say that what was typed is not saved yet.
        asked: the number of the version that is about to be published, "" for what was typed; None for nothing.
        at: when it is to be published, as it was typed; "" for now.
    """
    versions = assistant.prompt_versions.order_by("-number").select_related("created_by").defer("text")
    published = assistant.prompt_versions.filter(status=PromptVersion.Status.PUBLISHED).first()
    page = Paginator(versions, VERSIONS_ON_A_PAGE).get_page(request.GET.get("page"))
    figures = figures_of(assistant=assistant, versions=list(page))
    whose = {"tenant_id": assistant.tenant_id, "assistant_id": assistant.pk}
    waiting = publications_of(**whose)
    failed = failed_publications_of(**whose)
    named = {str(one.pk): one for one in versions.filter(pk__in=[int(job.key) for job in (*waiting, *failed)])}
    users = users_of(assistant)
    own_name = request.user.get_username()
    tests_themselves = is_tester(request, assistant)
    try_as = try_as_url(request, assistant)
    context = {
        **admin.site.each_context(request),
        "title": _("Prompt of %(assistant)s") % {"assistant": assistant.name},
        "assistant": assistant,
        "assistant_tabs": assistant_tabs.open_tabs(request, assistant, assistant_tabs.PROMPT),
        "is_tester": tests_themselves,
        "try_as": try_as,
        "can_try": settings.ASSISTANT_PROMPT_TESTS and (tests_themselves or bool(try_as)),
        "own_name": own_name,
        "form": form,
        "is_kept": is_kept,
        "published": published,
        "draft": _draft(assistant, form),
        "page": page,
        "rows": [(one, figures[one.pk]) for one in page],
        "figure_days": DAYS,
        "pages": page.paginator.get_elided_page_range(page.number) if page.paginator.num_pages > 1 else (),
        "waiting": [(named[job.key], job) for job in waiting if job.key in named],
        "failed": [(named[job.key], job) for job in failed if job.key in named],
        "built_in": BUILT_IN,
        "can_test": settings.ASSISTANT_PROMPT_TESTS,
        "buttons": [(verb, button.name) for verb, button in shown_buttons(request).items()],
        "links": added_links("prompt", assistant),
        "own": own_names(tenant_id=assistant.tenant_id)[:MAX_NAMES],
        "users": users,
        "user_name": request.POST.get("user") or (own_name if own_name in users else next(iter(users), "")),
        "publication": None if asked is None else publication_of(assistant, form, published, asked, at),
        "tokens": estimate_tokens(str(form["text"].value() or "")),
        "preview": preview_of(request, assistant, form, published) if request.POST.get("do") == "preview" else None,
    }
    return TemplateResponse(request, "admin/assistant/promptversion/editor.html", context)

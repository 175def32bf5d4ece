"""Where a project has mounted the assistant's URLs, in each of its languages, and what an address below leads to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.urls import Resolver404, ResolverMatch, URLResolver, get_resolver, get_urlconf, resolve, reverse
from django.urls.resolvers import LocalePrefixPattern, RoutePattern
from django.utils import translation

# The `app_name` of `assistant.urls` and `assistant.page_urls`, and that of `assistant.api_urls`.
PAGES = "assistant"
APIS = "assistant_apis"


def find(path: str) -> ResolverMatch | None:
    """Return what a path of the site leads to, in the language that it begins with; None if nothing has this path."""
    try:
        if not is_language_prefix_patterns_used(settings.ROOT_URLCONF)[0]:
            return resolve(path)
        with translation.override(translation.get_language_from_path(path) or settings.LANGUAGE_CODE):
            return resolve(path)
    except Resolver404:
        return None


def is_own(match: ResolverMatch) -> bool:
    """Return whether an address leads to the assistant, wherever the project has mounted it."""
    return PAGES in match.app_names or APIS in match.app_names


def mounts() -> tuple[str, ...]:
    """Return what the paths begin with below which the project has mounted the assistant, such as `/de/assistant/`.

    APIs come first if they are mounted apart, then pages, in the project's own language first.
    """
    return _mounts(settings.ROOT_URLCONF)


def api_mounts() -> tuple[str, ...]:
    """Return those of `mounts` below which the APIs, the probes and the websockets are."""
    return tuple(mount for mount in mounts() if find(f"{mount}healthz") is not None)


def page_mounts() -> tuple[str, ...]:
    """Return those of `mounts` below which the pages are."""
    return tuple(mount for mount in mounts() if find(f"{mount}accounts/login/") is not None)


def api_url(name: str, /, **kwargs: Any) -> str:
    """Return the path of an address for programs, in a project that has mounted the APIs apart or with the pages.

    Raises:
        NoReverseMatch: the project has mounted neither, or there is no such address.
    """
    mounted = get_resolver(get_urlconf()).app_dict
    return reverse(f"{APIS if APIS in mounted else PAGES}:{name}", kwargs=kwargs)


@cache
def _mounts(urlconf: str) -> tuple[str, ...]:
    languages = [settings.LANGUAGE_CODE]
    if is_language_prefix_patterns_used(urlconf)[0]:
        languages += [code for code, _ in settings.LANGUAGES]
    found: list[tuple[bool, str]] = []
    for language in languages:
        with translation.override(language):
            found += ((name != APIS, f"/{prefix}") for name, prefix in _prefixes(get_resolver(urlconf), ""))
    return tuple(dict.fromkeys(prefix for _, prefix in sorted(found, key=lambda mount: mount[0])))


def _prefixes(resolver: URLResolver, before: str) -> Iterator[tuple[str, str]]:
    """Yield the `app_name` of each mount below a resolver, with what the paths there surely begin with."""
    for entry in resolver.url_patterns:
        if not isinstance(entry, URLResolver):
            continue
        beginning, is_whole = _beginning(entry.pattern)
        if entry.app_name in (PAGES, APIS):
            yield str(entry.app_name), before + beginning
        else:
            for name, below in _prefixes(entry, before + beginning):
                yield name, below if is_whole else before + beginning


def _beginning(pattern: Any) -> tuple[str, bool]:
    """Return the text that a pattern surely begins with, and whether that is all of it."""
    if isinstance(pattern, LocalePrefixPattern):
        return pattern.language_prefix, True
    if isinstance(pattern, RoutePattern):
        text, parameter, _ = str(pattern).partition("<")
        return text, not parameter
    return "", str(pattern) == ""

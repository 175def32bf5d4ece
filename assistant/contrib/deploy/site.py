"""What a project's settings, pages and server lack."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.conf import settings
from django.templatetags.static import static
from django.urls import NoReverseMatch

from assistant import defaults
from assistant.contrib.deploy import inside
from assistant.contrib.deploy.content_policy import policy_finding
from assistant.contrib.deploy.findings import Finding
from assistant.contrib.deploy.plan import api_mounts, asgi_application, page_mounts
from assistant.core.values.frame_sizes import HTTP_PROTOCOL, MAX_SERVER_FRAME
from assistant.environment import public_host
from assistant.models import Provider, Tenant
from assistant.models.tenants import ErasedTenant
from assistant.optional_apps import problems_of_settings, setting_names
from assistant.services.tenancy.host import host_model
from assistant.setting_text import misspelt
from assistant.staticfiles import has_whitenoise

# Loggers that would write prompts and answers.
_PROMPT_LOGGERS = ("openai", "anthropic", "google_genai", "httpx2", "aiohttp", "mcp")


def site_findings(*, has_proxy: bool = False) -> Iterator[Finding]:
    """Yield what the project lacks. With `has_proxy` its proxy is asked for what it sends in the process's place."""
    yield from _settings()
    yield from _security()
    yield from _application(has_proxy)
    yield from _logging()
    yield from _bounds()
    yield from _tenants()


def _settings() -> Iterator[Finding]:
    problems = problems_of_settings()
    for problem in problems:
        yield Finding("settings", problem, "docs/configuration.md#variables")
    for name, meant in misspelt(setting_names(), settings, os.environ):
        yield Finding("settings", f"nothing reads {name}", f"Is {meant} meant?" if meant else "Remove it.")
    if not problems:
        yield Finding("settings", "types and ranges are right")


def _security() -> Iterator[Finding]:
    yield Finding("DEBUG", str(settings.DEBUG), "DEBUG = False" if settings.DEBUG else "")
    has_host = public_host(settings.ALLOWED_HOSTS)
    yield Finding(
        "ALLOWED_HOSTS", ", ".join(settings.ALLOWED_HOSTS) or "empty", "" if has_host else "Add your public host name."
    )
    is_weak = len(settings.SECRET_KEY) < 50 or settings.SECRET_KEY.startswith("django-insecure-")
    is_derived = defaults.keys_from(settings.SECRET_KEY) == settings.ASSISTANT_FIELD_ENCRYPTION_KEYS
    how = "docs/configuration.md#generate-a-secret-key-and-an-encryption-key"
    yield Finding("SECRET_KEY", "short, or startproject's" if is_weak else "set", how if is_weak else "")
    message = "not set: derived from SECRET_KEY, which then can never change" if is_derived else "set"
    yield Finding("ASSISTANT_FIELD_ENCRYPTION_KEYS", message, how if is_derived else "")
    missing = [name for name in ("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE") if not getattr(settings, name)]
    fix = "; ".join(f"{name} = True" for name in missing)
    yield Finding("cookies", "sent over plain HTTP too" if missing else "sent over TLS only", fix)
    fix = 'SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https"), and a proxy that overwrites the header'
    has_header = bool(settings.SECURE_PROXY_SSL_HEADER)
    message = "SECURE_PROXY_SSL_HEADER " + ("is set" if has_header else "is not set: the site takes HTTPS for HTTP")
    yield Finding("proxy", message, "" if has_header else fix)


def _application(has_proxy: bool) -> Iterator[Finding]:
    """Ask the ASGI application what a server would be asked."""
    name = asgi_application()
    try:
        application = inside.load(name)
        mounted = api_mounts()[0]
        is_wrapped = inside.ask(application, f"{mounted}ws/-/-/").status == 426
    except NoReverseMatch:
        yield Finding("URLs", "none leads to the assistant", 'path("assistant/", include("assistant.urls"))')
        return
    except Exception as exc:
        # Whatever the project's module raises, a server could not start.
        yield Finding("ASGI", f"{name}: {exc}", "Fix the module, or name another in ASGI_APPLICATION.")
        return
    fix = "application = with_assistant(application), of assistant.routing"
    yield Finding("ASGI", name if is_wrapped else f"{name} serves no websockets", "" if is_wrapped else fix)
    # As a supervisor asks: by the address of a port, without TLS.
    status = inside.ask(application, f"{mounted}healthz", host="127.0.0.1:8001", is_secure=False).status
    message = f"{mounted}healthz answers {status}; ask {mounted}readyz before sending requests to a process"
    yield Finding("health", message, "" if status == 200 else "application = with_assistant(application)")
    yield from _static_files(application)
    if not has_proxy:
        for mount in page_mounts():
            headers = inside.ask(application, f"{mount}accounts/login/", host=_host()).headers
            yield policy_finding(headers.get("content-security-policy", ""), mount)


def _static_files(application: Any) -> Iterator[Finding]:
    collect = "STATIC_ROOT, then manage.py collectstatic"
    try:
        style = static("assistant/css/chat.css")
    except ValueError as exc:
        yield Finding("static files", str(exc), collect)
        return
    if not style.startswith("/"):
        yield Finding("static files", f"another host serves {style}", is_manual=True)
        return
    status = inside.ask(application, style, host=_host()).status
    fix = f"Leave ASSISTANT_STATIC_FROM_SERVER on, or set {collect}, and let the proxy serve them."
    yield Finding("static files", f"{style} answers {status}", "" if status == 200 else fix)
    if apps.is_installed("django.contrib.admin") and not settings.STATIC_ROOT and not has_whitenoise():
        yield Finding("static files", "the admin's and your own answer 404 with DEBUG=False", f"Set {collect}.")


def _host() -> str:
    """A host name that the site answers to."""
    named = [host.lstrip(".") for host in settings.ALLOWED_HOSTS if host != "*"]
    return named[0] if named else "localhost"


def _logging() -> Iterator[Finding]:
    has_labels = "assistant.toolkit.logs" in str(settings.LOGGING)
    fix = "Add the filter assistant.toolkit.logs.ContextFilter to LOGGING: docs/production.md#in-your-own-project"
    message = "lines name the tenant, run and request" if has_labels else "lines name neither tenant nor run"
    yield Finding("logging", message, "" if has_labels else fix)
    writing = [name for name in _PROMPT_LOGGERS if logging.getLogger(name).isEnabledFor(logging.DEBUG)]
    if writing:
        yield Finding("logging", f"{', '.join(writing)} would log prompts", "Set their level to WARNING in LOGGING.")


def _bounds() -> Iterator[Finding]:
    django = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if django is not None and django < settings.ASSISTANT_MAX_BODY_BYTES:
        message = f"ASSISTANT_MAX_BODY_BYTES is {settings.ASSISTANT_MAX_BODY_BYTES}, but Django takes {django}"
        yield Finding("sizes", message, "Raise DATA_UPLOAD_MAX_MEMORY_SIZE, or lower ASSISTANT_MAX_BODY_BYTES.")
    sizes = f"bodies {settings.ASSISTANT_MAX_BODY_BYTES}, uploads {settings.ASSISTANT_MAX_UPLOAD_BYTES} bytes"
    message = f"{sizes}; the proxy needs the same"
    yield Finding("sizes", message, is_manual=True)
    bounds = f"--http {HTTP_PROTOCOL} --ws-max-size {MAX_SERVER_FRAME}"
    message = f"start uvicorn with {bounds}, one process for each port, without --workers"
    yield Finding("servers", message, is_manual=True)


def _tenants() -> Iterator[Finding]:
    model = host_model()
    if model is not None:
        known = set(Tenant.objects.exclude(external_id=None).values_list("external_id", flat=True))
        # A sync makes none for those whose data was deleted here.
        known |= set(ErasedTenant.objects.values_list("external_id", flat=True))
        count = sum(str(pk) not in known for pk in model._default_manager.values_list("pk", flat=True))
        yield Finding(
            "tenants", f"{count} of yours have none here", "manage.py assistant_sync_tenants" if count else ""
        )
    has_model = bool(settings.OPENAI_API_KEY or settings.OPENAI_BASE_URL or settings.ASSISTANT_LOCAL_MODEL_URL)
    message = "set" if has_model else "none for the deployment"
    fix = "" if has_model or Provider.objects.exists() else "Set OPENAI_API_KEY and OPENAI_MODEL: a stand-in answers."
    yield Finding("language model", message, fix)

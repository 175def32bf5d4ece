"""Where e-mail goes, from an environment variable."""

from __future__ import annotations

from typing import Any

import environ

from assistant.environment import Environment


def email(name: str, env: Environment) -> dict[str, Any]:
    """Return Django's EMAIL settings from a URL such as smtp+tls://user:password@host:587; nothing without one."""
    text = env.text(name)
    if not text:
        return {}
    try:
        parsed = dict(environ.Env.email_url_config(text))
    except Exception as exc:
        # Without the text: it holds a password.
        env.problems.append((name, f"is not an e-mail URL ({type(exc).__name__})"))
        return {}
    if parsed["EMAIL_BACKEND"].endswith("smtp.EmailBackend") and not parsed["EMAIL_HOST"]:
        env.problems.append((name, "must name a host, as smtp+tls://user:password@host:587 does"))
        return {}
    settings = {key: value for key, value in parsed.items() if key.startswith("EMAIL_")}
    # A mail server that does not answer must not hold a page.
    return {**settings, "EMAIL_TIMEOUT": 10}

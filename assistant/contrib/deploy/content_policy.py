"""The Content-Security-Policy that the assistant's pages need."""

from __future__ import annotations

from assistant.contrib.deploy.findings import Finding

# The least that the pages of the chat, the admin and the documentation work with.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


def policy_finding(policy: str, mount: str) -> Finding:
    """Return what is to be said of the Content-Security-Policy of the pages below a mount; "" is none."""
    fix = f"Send it, from your middleware or your proxy (which --url asks). The assistant's pages need: {POLICY}"
    return Finding("Content-Security-Policy", f"{policy or 'none'} at {mount}", "" if policy else fix)

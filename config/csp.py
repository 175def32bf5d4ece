"""The middleware that sends the Content-Security-Policy: Django's own from version 6.0 on, django-csp's on 5.2.

The settings define the policy once, as Django's `SECURE_CSP`, and pass the same directives to django-csp.
"""

from __future__ import annotations

import django

NONE, SELF = "'none'", "'self'"

if django.VERSION >= (6, 0):
    APPS: tuple[str, ...] = ()
    MIDDLEWARE = "django.middleware.csp.ContentSecurityPolicyMiddleware"
else:
    APPS = ("csp",)
    MIDDLEWARE = "csp.middleware.CSPMiddleware"

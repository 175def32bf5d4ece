"""django-tenants: the assistant and people in the public schema, each firm's invoices in its own."""

import os

import environ
from matrix_settings import *  # noqa: F403
from matrix_settings import INSTALLED_APPS, MIDDLEWARE

SHARED_APPS = ["django_tenants", "firms", *(app for app in INSTALLED_APPS if app != "accounts")]
TENANT_APPS = ["stock"]
INSTALLED_APPS = [*SHARED_APPS, *TENANT_APPS]
MIDDLEWARE[0:0] = ["django_tenants.middleware.main.TenantMainMiddleware"]
DATABASES = {"default": environ.Env.db_url_config(os.environ["DATABASE_URL"])}
DATABASES["default"] |= {"ENGINE": "django_tenants.postgresql_backend", "ATOMIC_REQUESTS": True}
DATABASE_ROUTERS = ["django_tenants.routers.TenantSyncRouter"]
TENANT_MODEL = "firms.Firm"
TENANT_DOMAIN_MODEL = "firms.Domain"
ASSISTANT_TENANTS = "firms.assistant.Firms"

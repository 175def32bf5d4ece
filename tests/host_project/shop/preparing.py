"""Makes the tables of the shop and its two companies; with `HOST_ROLE`, row-level security for all of them."""

import importlib
import os

from django.core.management import call_command
from django.db import connection, connections

from assistant.contrib.row_level_security import policies as row_level_security
from assistant.services.tenancy.row_scope import all_tenants
from orders.models import Article
from staged import HIDDEN, stage


def prepare(orders=12):
    """Return both companies by slug."""
    call_command("makemigrations", "people", "orders", verbosity=0)
    importlib.invalidate_caches()
    call_command("migrate", verbosity=0)
    staged = stage(orders)
    for slug, company in staged.items():
        with all_tenants():
            article = Article.objects.create(company=company.company, title=f"{slug}-article", body=HIDDEN)
        company.rows["Article"] = [article]
    if role := os.environ.get("HOST_ROLE"):
        _restrict(role)
    return staged


def _restrict(role):
    with all_tenants():
        call_command("assistant_row_level_security", "install", "--role", role, "--host-tables", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER ROLE {role} PASSWORD '{role}'")
    connection.close()
    # Tools run in threads with connections of their own.
    for settings in (connection.settings_dict, connections.settings["default"]):
        settings["USER"] = settings["PASSWORD"] = role
    row_level_security.wrap_statements()

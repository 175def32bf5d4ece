"""Reads every table of the host without any filter, as the servers' role, and prints what each tenant found."""

import json
import os

from django.core.management import call_command
from django.db import DatabaseError, connection, connections, transaction

from assistant.hosting import host_scope
from assistant.models import Tenant
from assistant.operations import all_tenants
from assistant.contrib.row_level_security import policies as row_level_security
from assistant.services.tenancy.host import membership_model
from assistant.services.tenancy.row_scope import tenant_scope
from staging import prepare

staged = prepare()

role = os.environ["HOST_ROLE"]
# Users and their memberships are looked up before their tenant is known.
members = membership_model()
unprotected = {"person"} if members is None else {"person", members._meta.model_name}


def found_by(rows):
    return [
        (type(row)._meta.model_name, row.pk) for row in rows if type(row)._default_manager.filter(pk=row.pk).exists()
    ]


def restricted(rows):
    return [row for row in rows if row._meta.model_name not in unprotected]


call_command("assistant_row_level_security", "install", "--role", role)
with connection.cursor() as cursor:
    cursor.execute(f"ALTER ROLE {role} PASSWORD '{role}'")
    cursor.execute(f"GRANT {role} TO CURRENT_USER")
installed = row_level_security.count_protected()
connections.close_all()
row_level_security.wrap_statements()


def as_role(role):
    with connection.cursor() as cursor:
        cursor.execute(f"SET ROLE {role}" if role else "RESET ROLE")


as_role(role)
with host_scope(staged["acme"][0]):
    # What the policies on the assistant's own tables leave open.
    open_rows = len(found_by(restricted(staged["globex"][1])))
as_role("")
with all_tenants():
    call_command("assistant_row_level_security", "install", "--role", role, "--host-tables")
as_role(role)
foreign, missing, unseen = [], [], []
for slug, (tenant_row, rows) in staged.items():
    with all_tenants():
        ours = Tenant.objects.get(slug=slug).pk
    for scope in (lambda: tenant_scope(ours), lambda: host_scope(tenant_row)):  # noqa: B023
        with scope():
            missing += [row for row in rows if (row._meta.model_name, row.pk) not in found_by(rows)]
            for other, (_, theirs) in staged.items():
                foreign += found_by(restricted(theirs)) if other != slug else []
with tenant_scope():
    unseen = found_by(restricted([row for _, rows in staged.values() for row in rows]))
with host_scope(staged["acme"][0]):
    try:
        with transaction.atomic():
            staged["globex"][1][2].save(force_insert=True)
        foreign.append("written")
    except DatabaseError as exc:
        assert "row-level security" in str(exc), exc
print(
    json.dumps(
        {
            "foreign": foreign,
            "missing": [str(row) for row in missing],
            "unseen": unseen,
            "open": open_rows,
            "added": row_level_security.count_protected() - installed,
            "problems": row_level_security.find_problems(),
        },
        default=str,
    )
)

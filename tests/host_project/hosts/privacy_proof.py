"""Exports and deletes people and organisations of the host, first with the hooks' defaults and then with its own."""

import json
from io import StringIO
from pathlib import Path
from zipfile import ZipFile

from django.core.management import call_command
from organisations.assistant import Host
from organisations.models import Order, Organisation
from people.models import Person

from assistant.hosting import restore_tenant
from assistant.contrib.deploy.site import site_findings
from assistant.contrib.end_users.models import EndUser
from assistant.models import Assistant, AuditEntry, Conversation, Membership, Tenant
from assistant.models.tenants import ErasedTenant
from assistant.services.tenancy import audit_trail
from assistant.contrib.end_users.services.tokens import save_end_user
from staging import prepare

prepare()
ROOT = Person.objects.create_superuser("root@crm.example", "x")
acme, globex = (Tenant.objects.get(slug=slug) for slug in ("acme", "globex"))
alice = Person.objects.get(email="acme@crm.example")
Person.objects.filter(pk=alice.pk).update(known_as_name="Alicia", city="Vienna")
helper = Assistant.objects.create(tenant=acme, slug="helper", name="Helper")


def command(*words):
    told, by = StringIO(), ("--by", "root@crm.example")
    call_command(*words, *by, *(["--noinput"] if words[0].startswith("assistant_delete") else []), stdout=told)
    return told.getvalue()


def exported(*words):
    file = Path(f"{words[0]}.zip")
    command(*words, "--file", str(file))
    with ZipFile(file) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def slugs():
    return sorted(Tenant.objects.values_list("slug", flat=True))


# Exports hold every field but the password, and what the hooks give.
Host.export_user = lambda self, user: {"crm.Orders": Order.objects.filter(organisation__members__person=user)}
found = exported("assistant_export_user", alice.email)
person = json.loads(found["people.Person.jsonl"])
fields = {field.attname for field in Person._meta.concrete_fields}
assert set(person) == fields - {"password"} and person["city"] == "Vienna", person
assert json.loads(found["crm.Orders.jsonl"])["organisation_id"] == acme.external_id
assert "organisations.Member.jsonl" not in found, found
found = exported("assistant_export_tenant", "acme")
assert json.loads(found["organisations.Organisation.jsonl"])["id"] == acme.external_id
assert "Alicia" in found["people.Person.jsonl"] and "globex" not in "".join(found.values())

# A user's data is deleted, and the account stays as it was.
Conversation.objects.create(tenant=acme, assistant=helper, user=alice)
audit_trail.record(actor=None, action="x", target="Alicia of Vienna", tenant=acme)
assert "The account is your project's, and stays" in command("assistant_delete_user", alice.email)
assert Person.objects.get(pk=alice.pk).is_active and alice.memberships.count() == 1
assert not Conversation.objects.exists() and not Membership.objects.filter(user=alice).exists()
assert AuditEntry.objects.get(action="x").target == f"user {alice.pk} of Vienna"

# A tenant's data is deleted with the end users made here; the organisation stays, and is not made a tenant again.
save_end_user(tenant_id=acme.pk, external_id="c-1", name="Carl", context={})
guest = EndUser.objects.get().user_id
people = Person.objects.exclude(pk=guest).count()
assert "own row and its users stay" in command("assistant_delete_tenant", "acme")
assert Person.objects.count() == people and not Person.objects.filter(pk=guest).exists()
assert Organisation.objects.count() == 2 and slugs() == ["globex"]
row = Organisation.objects.get(slug="acme")
row.save()
call_command("assistant_sync_tenants")
assert slugs() == ["globex"], slugs()
assert [found.fix for found in site_findings() if found.part == "tenants"] == [""]
assert restore_tenant(row).slug == "acme" and not Assistant.objects.filter(tenant__slug="acme").exists()

# Hooks that delete are called.
Host.delete_user = lambda self, user: user.delete()
Host.delete_tenant = lambda self, row: row.delete()
assert "stays" not in command("assistant_delete_user", "globex@crm.example")
assert not Person.objects.filter(email="globex@crm.example").exists()
assert " stay: " not in command("assistant_delete_tenant", "globex")
assert not Organisation.objects.filter(slug="globex").exists() and slugs() == ["acme"]
assert not ErasedTenant.objects.exists()
print("done")

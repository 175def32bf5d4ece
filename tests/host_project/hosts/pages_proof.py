"""Opens every address of the site as an operator, a tenant's admin and other staff; prints what failed."""

import json

from django.contrib.auth import get_user_model
from django.db import connections
from django.test import Client

from assistant.models import Membership, Tenant
from staging import prepare
from tests.isolation.doors import paths
from tests.isolation.planting import Planter

prepare()
tenant = Tenant.objects.get(slug="acme")
User = get_user_model()


def person(name, **fields):
    return User.objects.create(**{User.USERNAME_FIELD: f"{name}@crm.example"}, is_staff=True, **fields)


member = tenant.memberships.get()
root, admin, stranger = person("root", is_superuser=True), person("admin"), person("stranger")
Membership.objects.create(tenant=tenant, user=admin, role="admin")
addresses = paths(Planter(tenant, member.user, member).plant_all())
failed, opened = [], []
for user in (root, admin, stranger):
    browser, count = Client(SERVER_NAME="127.0.0.1", raise_request_exception=False), 0
    browser.force_login(user)
    for address in addresses:
        answer = browser.get(address)
        b"".join(answer) if answer.streaming else answer.content
        # Django alone answers 501 at websockets (`assistant.asgi.mounts`).
        if answer.status_code >= 500 and answer.status_code != 501 and not address.endswith("/readyz"):
            failed.append(f"{user} {address} {answer.status_code}")
        count += address.startswith("/admin/") and answer.status_code == 200
    opened.append(count)
connections.close_all()
print(json.dumps({"failed": failed, "opened": opened}))

"""Makes the public tenant and two firms, each with a schema, people and invoices."""

import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django_tenants.utils import tenant_context  # noqa: E402
from firms.models import Domain, Employment, Firm  # noqa: E402
from stock.models import Bill  # noqa: E402

User = get_user_model()
User.objects.create_superuser("root@crm.example", "correct-horse-battery-staple")
site = Firm.objects.create(schema_name="public", name="The site")
Domain.objects.create(domain="127.0.0.1", tenant=site)
for number, (name, people) in enumerate({"Acme": ["amy", "alice"], "Globex": ["mallory"]}.items(), 1):
    firm = Firm.objects.create(schema_name=name.lower(), name=name)
    Domain.objects.create(domain=f"{name.lower()}.example.com", tenant=firm)
    with tenant_context(firm):
        Bill.objects.create(number=number, total=f"{number}0.50")
    for place, who in enumerate(people):
        person = User.objects.create_user(f"{who}@crm.example", is_staff=place == 0)
        Employment.objects.create(firm=firm, person=person, is_manager=place == 0)

"""Makes the accounts of the project, with people of its own user model: the operator, an admin and members."""

import django

django.setup()

from accounts.models import Account, Invoice, Seat  # noqa: E402
from django.contrib.auth import get_user_model  # noqa: E402

User = get_user_model()
User.objects.create_superuser(**{User.USERNAME_FIELD: "root@crm.example"}, password="correct-horse-battery-staple")
for number, (name, people) in enumerate({"Acme": ["amy", "alice"], "Globex": ["mallory"]}.items(), 1):
    account = Account.objects.create(subdomain=name.lower(), company=name)
    Invoice.objects.create(account=account, number=number, total=f"{number}0.50")
    for place, who in enumerate(people):
        person = User.objects.create_user(**{User.USERNAME_FIELD: f"{who}@crm.example"})
        User.objects.filter(pk=person.pk).update(is_staff=place == 0)
        Seat.objects.create(account=account, person=person, is_manager=place == 0)

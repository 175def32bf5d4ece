"""Two tenants whose numbers are the wrong way round for the assistant's."""

from django.contrib.auth.models import User

from renters.models import Lease, Receipt, Remark, Rent, Tenant

UNNAMED = "renters.Meter"
NUMBERS = {"acme": 2, "globex": 1}


def fill(slug):
    """Make a tenant; return it with its rows."""
    tenant = Tenant.objects.create(pk=NUMBERS[slug], slug=slug)
    tenant.users.add(User.objects.create_user(slug))
    lease = Lease.objects.create(tenant=tenant)
    rent = Rent.objects.create(lease=lease)
    receipt = Receipt.objects.create(rent=rent)
    remarks = [Remark.objects.create(content_object=row) for row in (tenant, lease, rent, receipt)]
    return tenant, [tenant, Tenant.users.through.objects.get(tenant=tenant), lease, rent, receipt, *remarks]

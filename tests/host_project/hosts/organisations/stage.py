"""Two organisations with the same rows each."""

from organisations.models import Line, Member, Note, Order, Organisation, Payment
from people.models import Person

UNNAMED = "organisations.Stray"


def fill(slug):
    """Make an organisation; return it with its rows."""
    organisation = Organisation.objects.create(slug=slug)
    person = Person.objects.create_user(f"{slug}@crm.example", "x")
    member = Member.objects.create(organisation=organisation, person=person)
    order = Order.objects.create(organisation=organisation)
    line = Line.objects.create(order=order)
    notes = [Note.objects.create(about=row) for row in (organisation, order, line)]
    payment = Payment.objects.create(payer=organisation.pk)
    return organisation, [organisation, member, order, line, *notes, payment, person]

"""Two clients with the same rows each."""

from django.contrib.auth.models import User

from subdomains.models import Client, Domain, Mark, Reply, Ticket, UrgentReply

UNNAMED = "subdomains.Plan"


def fill(slug):
    """Make a client; return it with its rows."""
    client = Client.objects.create(pk={"acme": 2, "globex": 1}[slug], schema_name=slug)
    client.staff.add(User.objects.create_user(slug))
    domain = Domain.objects.create(domain=f"{slug}.example", tenant=client)
    ticket = Ticket.objects.create(schema=client)
    reply = Reply.objects.create(ticket=ticket)
    urgent = UrgentReply.objects.create(ticket=ticket)
    marks = [Mark.objects.create(content_object=row) for row in (client, ticket, reply, urgent)]
    return client, [client, domain, ticket, reply, urgent, *marks]

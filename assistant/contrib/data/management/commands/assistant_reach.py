"""`manage.py assistant_reach`: what a member of a tenant can reach, and confirming it."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from assistant.contrib.data.services.reach import as_json
from assistant.contrib.data.services.reviews import read_only_reason, review
from assistant.management.arguments import find_tenant, find_user
from assistant.management.operator import OperatorCommand
from assistant.models import Membership, Tenant


class Command(OperatorCommand):
    help = "Show what the assistant can reach for a member of a tenant, as JSON; confirm it, or set it to read only."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant", nargs="?", metavar="TENANT")
        parser.add_argument("user", nargs="?", metavar="USERNAME")
        parser.add_argument("--other", metavar="TENANT", help="The tenant to compare with; any by default.")
        parser.add_argument("--confirm", action="store_true", help="Let tools with effects run.")
        parser.add_argument("--read-only", action="store_true", help="Let no tool with an effect run.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["confirm"] and options["read_only"]:
            raise CommandError("Give either --confirm or --read-only.")
        if options["confirm"] or options["read_only"]:
            review(actor=None, is_read_only=options["read_only"])
            self.stdout.write(read_only_reason() or "Tools with effects run as they are switched.")
        if options["tenant"] is None:
            return
        if options["user"] is None:
            raise CommandError("Name the member, too.")
        tenant = find_tenant(options["tenant"])
        user = find_user(options["user"])
        membership = Membership.objects.select_related("tenant", "user").filter(tenant=tenant, user=user).first()
        if membership is None:
            raise CommandError(f"{options['user']} is no member of {tenant.slug}.")
        others = Tenant.objects.exclude(pk=tenant.pk).order_by("slug")
        other = find_tenant(options["other"]) if options["other"] else others.first()
        told = as_json(membership=membership, other=other)
        self.stdout.write(json.dumps(told, indent=2, ensure_ascii=False))

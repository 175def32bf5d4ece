"""`manage.py assistant_deliver_webhooks`: sends the messages that are due, for cron; servers do it all the time."""

from __future__ import annotations

import asyncio
from typing import Any

from assistant.contrib.webhooks.services.sender import send_due
from assistant.management.operator import OperatorCommand


class Command(OperatorCommand):
    help = "Send the messages that are due to tenants' webhooks, and end. Servers do the same all the time."

    def handle(self, *args: Any, **options: Any) -> None:
        tries = asyncio.run(send_due())
        self.stdout.write(f"{tries} messages were sent or tried.")

"""The tests' settings in a process whose host's clock is `SHIFT` seconds ahead of the database's."""

import os
from datetime import datetime, timedelta

from django.utils import timezone

from tests.settings import *  # noqa: F403

_now, _shift = timezone.now, timedelta(seconds=float(os.environ["SHIFT"]))


def shifted_now() -> datetime:
    return _now() + _shift


timezone.now = shifted_now

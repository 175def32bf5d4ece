"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether server processes keep the sums of days; otherwise cron runs `assistant_sum_days`.
ASSISTANT_INSIGHTS_FROM_SERVER = ENVIRONMENT.flag("ASSISTANT_INSIGHTS_FROM_SERVER", True)
# Whether tenants are warned when an assistant's answers have become worse.
ASSISTANT_QUALITY_WARNINGS = ENVIRONMENT.flag("ASSISTANT_QUALITY_WARNINGS", True)
# Whether tenants are warned when a part of their monthly limit of cost is used.
ASSISTANT_SPEND_WARNINGS = ENVIRONMENT.flag("ASSISTANT_SPEND_WARNINGS", True)
# What the audit calls the release that answers; "" for the package's.
ASSISTANT_RELEASE = ENVIRONMENT.text("ASSISTANT_RELEASE", "")

__all__ = [
    "ASSISTANT_INSIGHTS_FROM_SERVER",
    "ASSISTANT_QUALITY_WARNINGS",
    "ASSISTANT_RELEASE",
    "ASSISTANT_SPEND_WARNINGS",
]

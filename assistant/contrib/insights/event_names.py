"""The names of this app's events, which webhooks send."""

from __future__ import annotations

QUALITY_STEP = "quality.step"
SPEND_THRESHOLD = "spend.threshold"

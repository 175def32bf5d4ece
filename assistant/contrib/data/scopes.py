"""Which scope of an API key the app's addresses need."""

from __future__ import annotations

from collections.abc import Mapping

from assistant.services.tenancy.scopes import READ, Rule

REST: Mapping[str, Mapping[str, Rule]] = {
    "assistants/<slug:assistant>/rows/": {"GET": Rule((READ,))},
    "runs/<str:run_id>/rows/<str:call_id>/": {"GET": Rule((READ,))},
}

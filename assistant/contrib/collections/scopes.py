"""Which scope of an API key the app's addresses need."""

from __future__ import annotations

from collections.abc import Mapping

from assistant.services.tenancy.scopes import OF_DOCUMENTS, Rule

REST: Mapping[str, Mapping[str, Rule]] = {
    "collections/": {"GET": OF_DOCUMENTS, "POST": OF_DOCUMENTS},
    "collections/<int:collection>/": {"GET": OF_DOCUMENTS, "PATCH": OF_DOCUMENTS, "DELETE": OF_DOCUMENTS},
    "collections/<int:collection>/documents/": {"GET": OF_DOCUMENTS, "POST": OF_DOCUMENTS},
    "collections/<int:collection>/documents/<int:document>/": {"DELETE": OF_DOCUMENTS},
}

"""Ranks a tenant's passages by their meaning, for `services.knowledge.fusion`."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from assistant.contrib.embeddings.services.choice import encoder_of, serving_index
from assistant.contrib.embeddings.services.encoder import Encoder, EncoderFailed
from assistant.contrib.embeddings.services.spending import count_tokens
from assistant.services.knowledge.rankings import Ranked
from assistant.services.knowledge.stems import languages_of

logger = logging.getLogger(__name__)

# Characters of a wording that are embedded.
MAX_QUESTION = 1_000


def rank(*, tenant_id: int, queries: Sequence[str], limit: int) -> Ranked | None:
    """Return the tenant's passages that are nearest to the wordings; None if they cannot be compared."""
    index = serving_index(tenant_id)
    encoder = encoder_of(index.provider, index.model) if index is not None else None
    if index is None or encoder is None or encoder.name != index.encoder:
        return None
    understood = understood_by(encoder, [query[:MAX_QUESTION] for query in queries])
    if not understood:
        return None
    try:
        asked = encoder.encode_questions(understood)
    except EncoderFailed as exc:
        logger.warning("A search of tenant %s goes by words alone: %s", tenant_id, exc)
        return None
    # A site that has the app switched off needs no numpy.
    from assistant.contrib.embeddings.services.vectors import nearest, vectors_of

    count_tokens(tenant_id=tenant_id, provider=index.provider, model=index.model, tokens=asked.tokens)
    vectors = vectors_of(tenant_id=tenant_id, index_id=index.pk)
    likeness = nearest(vectors, asked.vectors, limit)
    return Ranked(index.encoder, likeness, understands_all=len(understood) == len(queries)) if likeness else None


def understood_by(encoder: Encoder, queries: Sequence[str]) -> list[str]:
    """Return the wordings that an encoder understands, by their stop words.

    Those without stop words, such as lists of words, are in the language of the others.
    """
    if not encoder.languages:
        return list(queries)
    told = {query: languages_of(query) for query in queries}
    known = [query for query in queries if not encoder.languages.isdisjoint(told[query])]
    if not known and any(told.values()):
        return []
    return [query for query in queries if query in known or not told[query]]

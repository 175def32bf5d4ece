"""Ranks a tenant's passages by their meaning, for `services.knowledge.fusion`."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from assistant.contrib.embeddings.models import EmbeddingIndex
from assistant.contrib.embeddings.services.choice import encoder_of, serving_index
from assistant.contrib.embeddings.services.encoder import MAX_TEXTS, Encoder, EncoderFailed
from assistant.contrib.embeddings.services.spending import count_tokens
from assistant.services.knowledge.rankings import Ranked
from assistant.services.knowledge.reach import Reach
from assistant.services.knowledge.stems import languages_of

logger = logging.getLogger(__name__)

# Characters of a wording that are embedded.
MAX_QUESTION = 1_000


def rank_each(*, reach: Reach, questions: Sequence[Sequence[str]], limit: int) -> list[Ranked | None]:
    """Return the passages within reach that are nearest to the wordings of each question.

    None stands for one that cannot be compared.

    The encoder gets all wordings together, and after a failure no more.
    """
    nothing: list[Ranked | None] = [None] * len(questions)
    index = serving_index(reach.tenant_id)
    encoder = encoder_of(index.provider, index.model) if index is not None else None
    if index is None or encoder is None or encoder.name != index.encoder:
        return nothing
    understood = [understood_by(encoder, [query[:MAX_QUESTION] for query in queries]) for queries in questions]
    texts = list(dict.fromkeys(text for one in understood for text in one))
    if not texts:
        return nothing
    try:
        directions = _encoded(encoder, index, texts)
    except EncoderFailed as exc:
        logger.warning("A search of tenant %s goes by words alone: %s", reach.tenant_id, exc)
        return nothing
    # A site that has the app switched off needs no numpy.
    from assistant.contrib.embeddings.services.vectors import nearest, vectors_of

    vectors = vectors_of(tenant_id=reach.tenant_id, index_id=index.pk)
    if reach.is_narrowed:
        vectors = vectors.among(reach.passages().order_by().values_list("pk", flat=True))
    ranked = list(nothing)
    for at, (queries, own) in enumerate(zip(questions, understood, strict=True)):
        likeness = nearest(vectors, [directions[text] for text in own], limit) if own else {}
        if likeness:
            ranked[at] = Ranked(index.encoder, likeness, understands_all=len(own) == len(queries))
    return ranked


def _encoded(encoder: Encoder, index: EmbeddingIndex, texts: Sequence[str]) -> dict[str, bytes]:
    """Return the vectors of texts, and count what they cost. Raises `EncoderFailed`."""
    vectors: dict[str, bytes] = {}
    for at in range(0, len(texts), MAX_TEXTS):
        some = texts[at : at + MAX_TEXTS]
        asked = encoder.encode_questions(some)
        count_tokens(tenant_id=index.tenant_id, provider=index.provider, model=index.model, tokens=asked.tokens)
        vectors.update(zip(some, asked.vectors, strict=True))
    return vectors


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

"""The encoder of a provider that has OpenAI's `/embeddings`."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from threading import Lock
from typing import Any

import httpx2
import openai

from assistant.contrib.embeddings.services.encoder import MAX_CHARACTERS, Encoded, EncoderFailed
from assistant.core.llm.protocol import ModelError
from assistant.core.turn.model_requests import Circuits
from assistant.models import Provider
from assistant.providers.given_settings import InvalidSetting, address_of, key_of
from assistant.providers.openai_wire.http_clients import client_of
from assistant.providers.openai_wire.refusals import Refusal
from assistant.services.tenancy.url_guard import tenant_guard

# Of one answer: 64 vectors of 4,096 numbers take 6 MB.
MAX_BYTES = 10 * 2**20
MAX_DIMENSION = 8_192
# A batch may be asked for again so often, by the client's own rules; a question that somebody waits for, once.
BATCH_SECONDS = 60.0
BATCH_RETRIES = 3
QUESTION_SECONDS = 5.0
QUESTION_RETRIES = 1

# Providers that have failed several times in a row: for a while nobody's search waits for them.
_CIRCUITS = Circuits()
# Searches are done in several threads.
_lock = Lock()


class EncoderAnswer(Exception):
    """The provider's answer holds no vectors."""


class ProviderEncoder:
    """Asks a provider for vectors. Addresses of tenants' own providers are guarded, and redirects are not followed."""

    dimension = 0
    languages: frozenset[str] = frozenset()

    def __init__(self, provider: Provider, model: str) -> None:
        self._provider = provider
        self._model = model
        self.provider = provider.name
        self.circuit_key = (provider.pk, provider.base_url, provider.api_key, model)

    @property
    def name(self) -> str:
        # Without the provider's label, which changes nothing about the vectors.
        return f"{self._model} of provider {self._provider.pk}"

    async def encode(self, texts: Sequence[str]) -> Encoded:
        return await self._asked(texts, BATCH_SECONDS, BATCH_RETRIES)

    def encode_questions(self, texts: Sequence[str]) -> Encoded:
        with _lock:
            is_open = _CIRCUITS.is_open(self)
        if is_open:
            raise EncoderFailed(f"{self._provider.name} has failed several times in a row, and is asked again later.")
        try:
            encoded = asyncio.run(self._asked(texts, QUESTION_SECONDS, QUESTION_RETRIES))
        except EncoderFailed:
            with _lock:
                _CIRCUITS.failed(self)
            raise
        with _lock:
            _CIRCUITS.answered(self)
        return encoded

    async def _asked(self, texts: Sequence[str], seconds: float, retries: int) -> Encoded:
        body = {"model": self._model, "input": [text[:MAX_CHARACTERS] for text in texts], "encoding_format": "float"}
        try:
            # Retries and their waits are within this time too.
            async with asyncio.timeout(seconds):
                return _encoded(await self._answer(json.dumps(body).encode(), seconds, retries), len(texts))
        except (ModelError, Refusal, InvalidSetting, EncoderAnswer) as exc:
            # These sentences are made for people: they name no key and no address.
            raise EncoderFailed(f"{self._provider.name}: {exc}"[:200]) from exc
        except (openai.APIError, httpx2.HTTPError) as exc:
            raise EncoderFailed(f"{self._provider.name} cannot be reached.") from exc
        except TimeoutError as exc:
            raise EncoderFailed(f"{self._provider.name} takes too long.") from exc

    async def _answer(self, body: bytes, seconds: float, retries: int) -> bytes:
        address = address_of(self._provider.base_url, "base_url")
        guard = tenant_guard() if self._provider.tenant_id is not None else None
        client = await client_of(address, key_of(self._provider.api_key, "api_key"), guard, None)
        response = await client.ask(body, seconds=seconds, max_retries=retries, headers={}, path="/embeddings")
        try:
            received = b""
            async for part in response.aiter_bytes():
                received += part
                if len(received) > MAX_BYTES:
                    raise EncoderAnswer("the answer is too long")
            return received
        finally:
            await response.aclose()


def _encoded(answer: bytes, count: int) -> Encoded:
    """Return the vectors of an answer. Raises `EncoderAnswer` if it holds others than so many."""
    try:
        value: Any = json.loads(answer)
        rows = sorted(value["data"], key=lambda row: int(row["index"]))
        vectors = [_signed_bytes(row["embedding"]) for row in rows]
        tokens = int((value.get("usage") or {}).get("prompt_tokens") or 0)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as exc:
        raise EncoderAnswer("the answer holds no vectors") from exc
    if len(vectors) != count or len({len(vector) for vector in vectors}) != 1:
        raise EncoderAnswer("the answer holds other vectors than were asked for")
    return Encoded(vectors, max(0, tokens))


def _signed_bytes(numbers: Sequence[Any]) -> bytes:
    """Return numbers as signed bytes, the largest as 127. Raises `ValueError` if they are no direction."""
    values = [float(number) for number in numbers]
    largest = max((abs(value) for value in values), default=0.0)
    if not 0 < largest < math.inf or len(values) > MAX_DIMENSION:
        raise ValueError("no direction")
    return bytes(round(value * 127 / largest) & 0xFF for value in values)

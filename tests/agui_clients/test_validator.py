"""ag-ui-validate, which nobody here wrote, asks the live door and finds nothing."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from ag_ui_validate.pytest_plugin import assert_valid_agui_endpoint
from ag_ui_validate.transport import TransportResponseLike

from assistant.models import Provider, TenantLimits
from tests.agui_clients.door import RUNS
from tests.api.calling import key_of
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.websocket.test_websocket import in_db

pytestmark = pytest.mark.django_db(transaction=True)


async def fetch(url: str, *, method: str, headers: Any, body: bytes, timeout_s: float | None) -> TransportResponseLike:
    """As the validator's own, which wants httpx."""
    client = httpx2.AsyncClient(timeout=timeout_s or 30)
    response = await client.send(client.build_request(method, url, headers=headers, content=body), stream=True)

    async def parts() -> Any:
        async for part in response.aiter_bytes():
            yield part
        await response.aclose()
        await client.aclose()

    return TransportResponseLike(status=response.status_code, headers=response.headers, body=parts())


@pytest.mark.parametrize("case", ["an answer", "a refused run"])
async def test_its_live_mode_passes(
    case: str, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Hello there.")
    if case == "a refused run":
        await TenantLimits.objects.acreate(tenant=cast.acme, tenant_messages_per_day=0)
    headers = {"Authorization": f"Bearer {await in_db(key_of)(cast.acme, cast.alice)}"}
    url = uvicorn_server.url + RUNS.format(tenant="acme")
    await assert_valid_agui_endpoint(url, headers=headers, fetch_impl=fetch, max_warnings=0)

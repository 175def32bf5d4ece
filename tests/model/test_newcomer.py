"""The embedded model under newcomers' questions to the demo: how many are right, and how few are false.

`make evaluate` asks them, after its sixty.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

import pytest
from django.test import override_settings

from assistant.client import ChatClient, Limits, RunFailed
from assistant.contrib.demo.tenants import load_demo_tenants
from assistant.contrib.local_model.warm_up_requests import likely_requests
from assistant.models import Membership
from assistant.providers.embedded import EmbeddedModel, EmbeddedServer, is_ready
from assistant.toolkit import TenantInfo, UserInfo
from tests.contrib.weather.test_weather import OpenMeteo, open_meteo  # noqa: F401 - a fixture
from tests.model.newcomer import OTHERS, TYPED, Talk
from tests.model.test_evaluation import LOADING_SECONDS, server  # noqa: F401 - a fixture

pytestmark = [
    pytest.mark.model,
    pytest.mark.timeout(5400),
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(os.environ.get("EVALUATE") != "true", reason="asked by make evaluate"),
]
# Right ones at least, and false ones at most.
BOUNDS = {"typed": (18, 0), "others": (18, 0)}
TALKS = {"typed": TYPED, "others": OTHERS}


@pytest.fixture
def clients(server: EmbeddedServer, open_meteo: OpenMeteo) -> dict[str, ChatClient]:  # noqa: F811
    """Each tenant's support assistant, for its member."""
    with override_settings(DEBUG=True):
        load_demo_tenants()
    found = {}
    requests = likely_requests(count=4)
    for username in ("alice", "mallory"):
        member = Membership.objects.select_related("tenant", "user").get(user__username=username)
        context = {
            "tenant": TenantInfo(member.tenant.pk, member.tenant.slug, member.tenant.name, member.tenant.timezone),
            "user": UserInfo(member.user.pk, member.user.username),
        }
        request = next(one for one in requests if f"assistant of {member.tenant.name}" in one.messages[0].content)
        found[username] = ChatClient(
            model=EmbeddedModel(server.base_url),
            system=request.messages[0].content,
            tools=[tool.replace(requires_approval=False) for tool in request.tools],
            context=context,
            limits=Limits(rounds=5, seconds=600),
        )
    return found


async def verdicts(talks: Sequence[Talk], clients: dict[str, ChatClient]) -> Counter[str]:
    """Ask all questions and print what came; return how many were right, honest and false."""
    found: Counter[str] = Counter()
    for talk in talks:
        history: Sequence[object] = ()
        for question in talk.questions:
            try:
                reply = await clients[talk.username].call(question.text, history=history)
            except RunFailed as exc:
                reply = exc.reply
            history = reply.messages
            verdict = question.judge(reply.text)
            found[verdict] += 1
            called = ", ".join(f"{call.name}({call.arguments})" for call in reply.tool_calls) or "no tool"
            print(f"{verdict:6} {question.text} -> {called} -> {' '.join(reply.text.split())[:400]}", flush=True)
    return found


@pytest.mark.parametrize("name", TALKS)
async def test_newcomers_get_right_answers_and_little_nonsense(
    name: str,
    server: EmbeddedServer,  # noqa: F811
    clients: dict[str, ChatClient],
) -> None:
    assert await is_ready(server.base_url, seconds=LOADING_SECONDS, absent_seconds=LOADING_SECONDS)
    found = await verdicts(TALKS[name], clients)
    print(dict(found))
    least, most = BOUNDS[name]
    assert found["right"] >= least
    assert found["false"] <= most

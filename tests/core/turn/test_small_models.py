"""The time in which a small model reads the prompt counts towards no limit of the run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from assistant.core.llm.protocol import Delta, ModelRequest, TextDelta
from assistant.core.turn.loop import run_turn
from assistant.core.values.events import RunError, RunFinished
from assistant.core.values.limits import Limits
from assistant.core.values.messages import Reply
from tests.core.scripted_turns import plan_for

LIMIT = 0.05


class Reader:
    """A model that reads for longer than the run may take, and then answers, for ever if `is_endless`."""

    name = "reader"
    provider = "test"

    def __init__(self, *, is_small: bool, is_endless: bool = False) -> None:
        self.is_small = is_small
        self.is_endless = is_endless

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        await asyncio.sleep(4 * LIMIT)
        yield TextDelta("Ready.")
        if self.is_endless:
            await asyncio.Event().wait()
        yield Reply(text="Ready.", finish_reason="stop")


async def last_event(model: Reader) -> object:
    plan = replace(plan_for([], limits=Limits(seconds=LIMIT)), model=model)
    return [event async for event in run_turn(plan)][-1]


async def test_a_small_model_may_read_for_longer_than_a_run_may_take() -> None:
    assert isinstance(await last_event(Reader(is_small=True)), RunFinished)


@pytest.mark.parametrize(("is_small", "is_endless"), [(False, False), (True, True)])
async def test_other_models_and_the_answers_of_small_ones_may_not(is_small: bool, is_endless: bool) -> None:
    failed = await last_event(Reader(is_small=is_small, is_endless=is_endless))
    assert isinstance(failed, RunError) and failed.code == "limit_reached"

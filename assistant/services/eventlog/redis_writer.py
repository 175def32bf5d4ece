"""What the runs of this process write, on its way to Redis: the events of all of them travel together.

At 50 tokens a second a run writes 50 times a second. A command for each would cost more than all else that is done for
a token; so one round is under way at a time, and whatever is written meanwhile, by any run, is the next one.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Awaitable, Callable, Sequence

from assistant.services.eventlog.log import Entry
from assistant.services.token_bucket import Bucket

# Of each thread that is written to: its stream, and the set of processes that read it. One script, so that nobody
# writes between the events of a thread: where the place of the first is taken, XADD raises. What was added goes to the
# mailboxes of the processes that read it, each of which gets one message; who has none any more is struck off. The
# fourth argument says with a 1 for each thread whose expiry is set anew.
APPEND = """
local keep, sender, mailbox, expiring = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local at, failed, mail = 5, {}, {}
for i = 1, #KEYS, 2 do
  local number, seq, count, text = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), ARGV[at + 3]
  local is_added = true
  for j = 0, count - 1 do
    local answer = redis.pcall('XADD', KEYS[i], number .. '-' .. (seq + j), 'f', ARGV[at + 4 + j])
    if type(answer) == 'table' and answer.err then
      is_added = false
      break
    end
  end
  at = at + 4 + count
  if is_added then
    -- One that was deleted meanwhile, as its tenant was, has lost its expiry.
    if string.byte(expiring, (i + 1) / 2) == 49 or redis.call('TTL', KEYS[i]) < 0 then
      redis.call('EXPIRE', KEYS[i], keep)
      redis.call('EXPIRE', KEYS[i + 1], keep)
    end
    for _, reader in ipairs(redis.call('SMEMBERS', KEYS[i + 1])) do
      if reader ~= sender then
        mail[reader] = mail[reader] or {}
        table.insert(mail[reader], text)
      end
    end
  else
    table.insert(failed, (i - 1) / 2)
  end
end
for reader, texts in pairs(mail) do
  if redis.call('PUBLISH', mailbox .. reader, '[' .. table.concat(texts, ',') .. ']') == 0 then
    for i = 2, #KEYS, 2 do redis.call('SREM', KEYS[i], reader) end
  end
end
return failed
"""

# Rounds that a process may write in a second, and at once after a pause: a single stream waits for none. A round
# of two events costs nearly as much as one of ten: without this bound 132 streams took a quarter more CPU.
ROUNDS_PER_SECOND, ROUNDS_AT_ONCE = 200.0, 10
# Of one round: more would keep Redis, which does one thing at a time, from the others for long.
MOST_ENTRIES = 500

# How long after an append to a thread the next one leaves its expiry as it is; threads are kept for an hour.
EXPIRY_KEPT_SECONDS = 60.0

Batch = tuple[str, Sequence[Entry]]
# Appends the events of several threads; an exception for each whose events could not be added, else None.
Append = Callable[[Sequence[Batch]], Awaitable[Sequence[Exception | None]]]


class Expiries:
    """When the expiry of each thread that is written to is to be set again."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def due(self, batches: Sequence[Batch]) -> str:
        """For each thread a 1 if it is to expire as long from now as it is kept, once in a while and at a run's end."""
        now = time.monotonic()
        return "".join("1" if self._is_due(thread, entries, now) else "0" for thread, entries in batches)

    def _is_due(self, thread: str, entries: Sequence[Entry], now: float) -> bool:
        if entries[-1].is_end:
            self.forget(thread)
            return True
        if self._until.get(thread, 0.0) > now:
            return False
        self._until[thread] = now + EXPIRY_KEPT_SECONDS
        return True

    def forget(self, thread: str) -> None:
        """Nobody writes to the thread any more."""
        self._until.pop(thread, None)

    def clear(self) -> None:
        """Redis may have been restarted, and know of no expiry."""
        self._until.clear()


class RedisWriter:
    """One run's way into the log: what it writes goes with the next round."""

    def __init__(self, rounds: Rounds, thread: str, on_failure: Callable[[], object]) -> None:
        self._rounds = rounds
        self._thread = thread
        self._on_failure = on_failure
        self._pending: list[Entry] = []
        self.failure: Exception | None = None
        self._is_due = False
        self._written = self._settled = 0

    def write(self, entry: Entry) -> None:
        if self.failure is not None:
            return
        self._pending.append(entry)
        self._written += 1
        if not self._is_due:
            self._is_due = True
            self._rounds.join(self)

    async def flush(self) -> None:
        # Not of what is written meanwhile: where text flows, there is always more.
        written = self._written
        while self._settled < written and self.failure is None:
            await self._rounds.end_of_one()
        if self.failure is not None:
            raise self.failure

    def take(self) -> Batch:
        """What is to be written."""
        batch, self._pending = self._pending, []
        return self._thread, batch

    def settle(self, count: int, failure: Exception | None) -> bool:
        """So many events of what was taken are written, or cannot be; returns whether there is more."""
        self._settled += count
        self._is_due = failure is None and bool(self._pending)
        if failure is not None:
            self.failure = failure
            self._on_failure()
        return self._is_due


class Rounds:
    """One round of writing after the other, for all writers of this process.

    Args:
        append: appends the events of a round, and is patient with a Redis that is away.
        is_away: whether an exception says that nobody else's events could have been appended either.
    """

    def __init__(self, append: Append, is_away: Callable[[Exception | None], bool]) -> None:
        self._append = append
        self._is_away = is_away
        self._due: list[RedisWriter] = []
        self._task: asyncio.Task[None] | None = None
        self._end: asyncio.Future[None] | None = None
        self._bucket = Bucket(ROUNDS_AT_ONCE, ROUNDS_PER_SECOND)

    def join(self, writer: RedisWriter) -> None:
        """Take a writer into the next round."""
        self._due.append(writer)
        if self._task is None:
            # In a context of its own: it writes for everybody, not only for whoever came first.
            self._task = asyncio.create_task(self._write(), name="redis-log-rounds", context=contextvars.Context())

    async def end_of_one(self) -> None:
        """Wait for the end of a round."""
        if self._end is None:
            self._end = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._end)

    async def _write(self) -> None:
        try:
            while self._due:
                if pause := self._bucket.reserve():
                    await asyncio.sleep(pause)
                writers, batches = self._next_round()
                try:
                    failures = await self._append(batches)
                except Exception as exc:
                    failures = [exc] * len(writers)
                for writer, (_, entries), failure in zip(writers, batches, failures, strict=True):
                    if writer.settle(len(entries), failure):
                        self._due.append(writer)
                away = next((failure for failure in failures if self._is_away(failure)), None)
                if away is not None:
                    self._fail_all(away)
                self._tell()
        finally:
            self._task = None
            self._tell()

    def _fail_all(self, failure: Exception) -> None:
        """Who waits would wait as long in vain, one round after the other."""
        writers, self._due = self._due, []
        for writer in writers:
            _, entries = writer.take()
            writer.settle(len(entries), failure)

    def _next_round(self) -> tuple[list[RedisWriter], list[Batch]]:
        writers: list[RedisWriter] = []
        batches: list[Batch] = []
        size = 0
        while self._due and size < MOST_ENTRIES:
            writer = self._due.pop(0)
            writers.append(writer)
            batches.append(writer.take())
            size += len(batches[-1][1])
        return writers, batches

    def _tell(self) -> None:
        end, self._end = self._end, None
        if end is not None:
            end.set_result(None)

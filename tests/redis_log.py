"""What tests of the core use of the app `redis`: they run where it is not installed, too, without its part."""

from __future__ import annotations

from assistant.contrib.redis import log as redis
from assistant.contrib.redis import watch as redis_watch
from assistant.contrib.redis import writer as redis_writer
from assistant.contrib.redis.log import READERS, STREAM, RedisLog
from assistant.contrib.redis.watch import MARK_KEY
from assistant.contrib.redis.writer import Batch

__all__ = ["MARK_KEY", "READERS", "STREAM", "Batch", "RedisLog", "redis", "redis_watch", "redis_writer"]

"""Qwen, by Alibaba's address or on other servers.

Its templates allow one system message, and only as the first.
"""

from __future__ import annotations

import re

from assistant.providers.profiles.profile import Profile, begins_thinking

HOSTS = ("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com")
MODELS = re.compile(r"(qwen|qwq|qvq)")


def profile(model: str) -> Profile:
    return Profile("qwen", empty_content="", begins_thinking=begins_thinking(model))

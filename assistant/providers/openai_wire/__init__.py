"""OpenAI's chat-completions wire format: request bodies, server-sent events, replies put together."""

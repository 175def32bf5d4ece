"""OpenAI's chat-completions wire format: request bodies, server-sent events, and replies assembled from chunks."""

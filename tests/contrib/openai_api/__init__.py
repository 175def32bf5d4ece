"""OpenAI's APIs below /v1: chat completions, Responses, conversations, files."""

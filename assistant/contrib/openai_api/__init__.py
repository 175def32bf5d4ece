"""OpenAI's APIs below /v1: a tenant's assistants as models, over chat completions and Responses."""

"""Optional app: assistants that ask other assistants of their tenant, each with its own prompt, model and tools."""

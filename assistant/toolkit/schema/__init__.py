"""JSON Schemas of tools: generation, validation and the strict form for providers.

pydantic makes and checks those of Python functions. The rest is what it does not do: check values by schemas of others
in bounded time, write the strict form, read a schema as a form, and refuse values that it would convert.
"""

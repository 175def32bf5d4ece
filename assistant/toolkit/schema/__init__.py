"""JSON Schemas of tools: generation, validation and the strict form for providers."""

"""Change sets: prompts, models, switches and limits of tenants that are changed together, and taken back together."""

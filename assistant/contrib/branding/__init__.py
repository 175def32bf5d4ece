"""How a tenant's chat and widget look: its name, colour, greeting and images."""

"""How much may be used: rates, API keys' requests, quotas and the usage they count."""

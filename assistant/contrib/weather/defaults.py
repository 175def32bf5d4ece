"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Open-Meteo's addresses, or those of a copy.
ASSISTANT_WEATHER_BASE_URL = ENVIRONMENT.url("ASSISTANT_WEATHER_BASE_URL", "https://api.open-meteo.com")
ASSISTANT_WEATHER_GEOCODING_URL = ENVIRONMENT.url(
    "ASSISTANT_WEATHER_GEOCODING_URL", "https://geocoding-api.open-meteo.com"
)

__all__ = ["ASSISTANT_WEATHER_BASE_URL", "ASSISTANT_WEATHER_GEOCODING_URL"]

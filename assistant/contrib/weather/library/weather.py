"""The weather tool: current weather and forecast from Open-Meteo's geocoding and forecast services."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Literal, TypeVar

import httpx2
from django.conf import settings
from pydantic import BaseModel, Field, ValidationError

from assistant.toolkit import Example, Param, ToolContext, ToolError, tool
from assistant.toolkit.guards.guarded_http import guarded_client
from assistant.toolkit.guards.url_guard import UrlGuard

Answer = TypeVar("Answer", bound=BaseModel)

# Timeout of each request to the service.
MAX_REQUEST_SECONDS = 8.0

# https://open-meteo.com/en/docs, "WMO Weather interpretation codes"
CONDITIONS = {
    0: "clear sky", 1: "mainly clear", 2: "partly cloudy", 3: "overcast", 45: "fog", 48: "freezing fog",
    51: "light drizzle", 53: "drizzle", 55: "heavy drizzle", 56: "light freezing drizzle", 57: "freezing drizzle",
    61: "light rain", 63: "rain", 65: "heavy rain", 66: "light freezing rain", 67: "freezing rain",
    71: "light snow", 73: "snow", 75: "heavy snow", 77: "snow grains", 80: "light showers", 81: "showers",
    82: "violent showers", 85: "light snow showers", 86: "heavy snow showers", 95: "thunderstorm",
    96: "thunderstorm with light hail", 99: "thunderstorm with heavy hail",
}  # fmt: skip


class WeatherSettings(BaseModel):
    """The tool's settings of a tenant."""

    units: Literal["metric", "imperial"] = Field("metric", description="Of temperatures, wind and rain.")


@dataclass(frozen=True, slots=True)
class CurrentWeather:
    """The weather at the local `time`."""

    time: str
    conditions: str
    temperature: float
    feels_like: float
    humidity_percent: float
    wind_speed: float


@dataclass(frozen=True, slots=True)
class DayForecast:
    """The forecast of a day; `rain_chance_percent` is None if the service does not give it."""

    date: str
    conditions: str
    low: float
    high: float
    rain: float
    rain_chance_percent: float | None


@dataclass(frozen=True, slots=True)
class WeatherReport:
    """The weather of a place in `units`."""

    place: str
    timezone: str
    units: str
    now: CurrentWeather
    days: list[DayForecast]


class _Place(BaseModel):
    name: str
    latitude: float
    longitude: float
    country: str = ""
    country_code: str = ""
    admin1: str = ""

    @property
    def full_name(self) -> str:
        return ", ".join(dict.fromkeys(part for part in (self.name, self.admin1, self.country) if part))

    def is_in(self, region: str) -> bool:
        return region.casefold() in {name.casefold() for name in (self.country, self.country_code, self.admin1) if name}


class _Places(BaseModel):
    results: list[_Place] = []


class _Current(BaseModel):
    time: str
    weather_code: int
    temperature_2m: float
    apparent_temperature: float
    relative_humidity_2m: float
    wind_speed_10m: float


class _Daily(BaseModel):
    time: list[str]
    weather_code: list[int]
    temperature_2m_min: list[float]
    temperature_2m_max: list[float]
    precipitation_sum: list[float]
    precipitation_probability_max: list[float | None]


class _Forecast(BaseModel):
    timezone: str
    current: _Current
    daily: _Daily


_UNITS: dict[str, tuple[str, dict[str, str]]] = {
    "metric": ("°C, km/h, mm", {}),
    "imperial": (
        "°F, mph, inch",
        {"temperature_unit": "fahrenheit", "wind_speed_unit": "mph", "precipitation_unit": "inch"},
    ),
}


@tool(
    read_only=True,
    idempotent=True,
    timeout=20,
    config=WeatherSettings,
    examples=[
        Example(
            "will it rain in Ulaanbaatar tomorrow?",
            {"city": "Ulaanbaatar", "days": 2},
            result='{"place":"Ulaanbaatar, Mongolia","now":{"conditions":"fog","temperature":-31.0},"days":[{},'
            '{"conditions":"snow","low":-39.0,"high":-30.0,"rain_chance_percent":1}]}',
            answer="In Ulaanbaatar it will snow tomorrow, between -39 and -30 °C, with a chance of rain of 1 %.",
        )
    ],
)
async def get_weather(
    context: ToolContext,
    city: Annotated[str | None, Param("City, like Paris or Paris, Texas.", max_length=100)] = None,
    latitude: Annotated[float | None, Param("In place of a city, with longitude.", ge=-90, le=90)] = None,
    longitude: Annotated[float | None, Param("In place of a city, with latitude.", ge=-180, le=180)] = None,
    days: Annotated[int, Param("Days of forecast, today included.", ge=1, le=7)] = 3,
) -> WeatherReport:
    """Tell the weather in a city: now, and the forecast."""
    config = context.config if isinstance(context.config, WeatherSettings) else WeatherSettings()
    # The configured addresses may be internal; addresses that they redirect to may not.
    guard = UrlGuard(trusted=(settings.ASSISTANT_WEATHER_BASE_URL, settings.ASSISTANT_WEATHER_GEOCODING_URL))
    async with guarded_client(guard, timeout=_timeout(context)) as client:
        if latitude is not None and longitude is not None and not city:
            place = _Place(name=f"{latitude:g}, {longitude:g}", latitude=latitude, longitude=longitude)
        elif city and city.strip() and latitude is None and longitude is None:
            place = await _locate(client, city)
        else:
            raise ToolError("Give either a city, or latitude and longitude.")
        return await _forecast(client, place, days, config)


async def _locate(client: httpx2.AsyncClient, city: str) -> _Place:
    """Return the place named "Paris" or "Paris, Texas", the largest if there are several."""
    name, _, region = (part.strip() for part in city.partition(","))
    url = f"{settings.ASSISTANT_WEATHER_GEOCODING_URL.rstrip('/')}/v1/search"
    places = await _get(client, url, {"name": name, "count": 10, "language": "en", "format": "json"}, _Places)
    if not places.results:
        raise ToolError(f"There is no city called {name!r}. Check how it is spelled.")
    for part in filter(None, (part.strip() for part in region.split(","))):
        matching = [place for place in places.results if place.is_in(part)]
        if not matching:
            known = "; ".join(place.full_name for place in places.results[:5])
            raise ToolError(f"There is no {name} in {part}. There are: {known}.")
        places = _Places(results=matching)
    return places.results[0]


async def _forecast(client: httpx2.AsyncClient, place: _Place, days: int, config: WeatherSettings) -> WeatherReport:
    units, parameters = _UNITS[config.units]
    query: dict[str, str | int | float] = {
        "latitude": place.latitude,
        "longitude": place.longitude,
        "current": ",".join(field for field in _Current.model_fields if field != "time"),
        "daily": ",".join(field for field in _Daily.model_fields if field != "time"),
        "timezone": "auto",
        "forecast_days": days,
        **parameters,
    }
    url = f"{settings.ASSISTANT_WEATHER_BASE_URL.rstrip('/')}/v1/forecast"
    found = await _get(client, url, query, _Forecast)
    now, daily = found.current, found.daily
    return WeatherReport(
        place=place.full_name,
        timezone=found.timezone,
        units=units,
        now=CurrentWeather(
            time=now.time,
            conditions=_conditions(now.weather_code),
            temperature=now.temperature_2m,
            feels_like=now.apparent_temperature,
            humidity_percent=now.relative_humidity_2m,
            wind_speed=now.wind_speed_10m,
        ),
        days=[
            DayForecast(date, _conditions(code), low, high, rain, chance)
            for date, code, low, high, rain, chance in zip(
                daily.time,
                daily.weather_code,
                daily.temperature_2m_min,
                daily.temperature_2m_max,
                daily.precipitation_sum,
                daily.precipitation_probability_max,
                strict=False,
            )
        ],
    )


def _timeout(context: ToolContext) -> float:
    """Return the timeout of a request in seconds: up to half of the remaining time, since a call can send two."""
    if context.deadline is None:
        return MAX_REQUEST_SECONDS
    return max(0.1, min(MAX_REQUEST_SECONDS, (context.deadline - datetime.now(UTC)).total_seconds() / 2))


def _conditions(code: int) -> str:
    return CONDITIONS.get(code, f"weather code {code}")


async def _get(
    client: httpx2.AsyncClient, url: str, query: dict[str, str | int | float], shape: type[Answer]
) -> Answer:
    """Send a request. Raises `ToolError` if the service cannot be reached or its answer is not valid."""
    try:
        response = await client.get(url, params=query)
        response.raise_for_status()
        return shape.model_validate_json(response.content)
    except httpx2.TimeoutException as exc:
        raise ToolError("The weather service did not answer in time. Try again later.") from exc
    except httpx2.HTTPStatusError as exc:
        status = exc.response.status_code
        raise ToolError(f"The weather service refused the request (HTTP {status}). Try again later.") from exc
    except httpx2.HTTPError as exc:
        raise ToolError("The weather service cannot be reached. Try again later.") from exc
    except ValidationError as exc:
        raise ToolError("The weather service gave an answer that cannot be read.") from exc

"""The weather tool, with a local server in place of Open-Meteo."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from pytest_django import Settings

from assistant.contrib.weather.library.weather import WeatherSettings, get_weather
from assistant.toolkit import ToolContext, ToolError

PARIS = {"name": "Paris", "latitude": 48.85341, "longitude": 2.3488, "country_code": "FR",
         "timezone": "Europe/Paris", "population": 2138551, "country": "France", "admin1": "Île-de-France"}  # fmt: skip
PARIS_TEXAS = {"name": "Paris", "latitude": 33.66094, "longitude": -95.55551, "country_code": "US",
               "timezone": "America/Chicago", "country": "United States", "admin1": "Texas"}  # fmt: skip
FORECAST = {
    "latitude": 48.86, "longitude": 2.35, "generationtime_ms": 0.05, "utc_offset_seconds": 3600,
    "timezone": "Europe/Paris", "timezone_abbreviation": "GMT+1", "elevation": 38.0,
    "current": {"time": "2026-11-21T11:15", "interval": 900, "temperature_2m": 7.4, "apparent_temperature": 4.9,
                "relative_humidity_2m": 81, "weather_code": 61, "wind_speed_10m": 13.2},
    "daily": {"time": ["2026-11-21", "2026-11-22"], "weather_code": [63, 3], "temperature_2m_max": [9.1, 8.0],
              "temperature_2m_min": [4.2, 3.3], "precipitation_sum": [5.4, 0.0],
              "precipitation_probability_max": [88, None]},
}  # fmt: skip


class OpenMeteo(ThreadingHTTPServer):
    """Answers by path, and records the queries."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, tuple[int, str]] = {}
        self.asked: list[tuple[str, dict[str, list[str]]]] = []
        self.stop = threading.Event()
        self.is_silent = False
        self.say("/v1/search", {"results": [PARIS, PARIS_TEXAS], "generationtime_ms": 0.5})
        self.say("/v1/forecast", FORECAST)

    def say(self, path: str, answer: Any, status: int = 200) -> None:
        self.answers[path] = (status, answer if isinstance(answer, str) else json.dumps(answer))


class _Handler(BaseHTTPRequestHandler):
    server: OpenMeteo

    def do_GET(self) -> None:
        if self.server.is_silent:
            self.server.stop.wait(60)
            return
        parts = urlsplit(self.path)
        self.server.asked.append((parts.path, parse_qs(parts.query)))
        status, body = self.server.answers[parts.path]
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def open_meteo(settings: Settings) -> Iterator[OpenMeteo]:
    with OpenMeteo() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        settings.ASSISTANT_WEATHER_BASE_URL = settings.ASSISTANT_WEATHER_GEOCODING_URL = (
            f"http://127.0.0.1:{server.server_port}"
        )
        yield server
        server.stop.set()
        server.shutdown()
        thread.join()


async def ask(context: ToolContext | None = None, **arguments: Any) -> Any:
    return json.loads((await get_weather.call(arguments, context or ToolContext())).content)


async def test_the_weather_of_a_city_is_returned(open_meteo: OpenMeteo) -> None:
    report = await ask(city="Paris", days=2)
    assert report["place"] == "Paris, Île-de-France, France"
    assert report["units"] == "°C, km/h, mm"
    assert report["now"] == {"time": "2026-11-21T11:15", "conditions": "light rain", "temperature": 7.4,
                             "feels_like": 4.9, "humidity_percent": 81.0, "wind_speed": 13.2}  # fmt: skip
    assert report["days"][1] == {"date": "2026-11-22", "conditions": "overcast", "low": 3.3, "high": 8.0, "rain": 0.0,
                                 "rain_chance_percent": None}  # fmt: skip
    path, query = open_meteo.asked[1]
    assert (path, query["latitude"], query["forecast_days"]) == ("/v1/forecast", ["48.85341"], ["2"])
    assert query["timezone"] == ["auto"]


@pytest.mark.parametrize("city", ["Paris, Texas", "Paris, US", "Paris, texas, United States"])
async def test_a_region_distinguishes_cities_with_one_name(open_meteo: OpenMeteo, city: str) -> None:
    assert (await ask(city=city))["place"] == "Paris, Texas, United States"
    assert open_meteo.asked[0][1]["name"] == ["Paris"]


async def test_an_unknown_region_lists_the_existing_ones(open_meteo: OpenMeteo) -> None:
    with pytest.raises(
        ToolError, match=r"There is no Paris in Spain\. There are: Paris, Île-de-France, France; Paris, T"
    ):
        await ask(city="Paris, Spain")


async def test_coordinates_need_no_city(open_meteo: OpenMeteo) -> None:
    assert (await ask(latitude=48.85, longitude=2.35))["place"] == "48.85, 2.35"
    assert [path for path, _ in open_meteo.asked] == ["/v1/forecast"]


@pytest.mark.parametrize("arguments", [{}, {"latitude": 1.0}, {"city": " "}, {"city": "Paris", "latitude": 1.0}])
async def test_incomplete_or_contradictory_places_are_refused(open_meteo: OpenMeteo, arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match="Give either a city, or latitude and longitude"):
        await ask(**arguments)
    assert open_meteo.asked == []


async def test_a_tenant_can_choose_its_units(open_meteo: OpenMeteo) -> None:
    report = await ask(ToolContext(config=WeatherSettings(units="imperial")), city="Paris")
    assert report["units"] == "°F, mph, inch"
    assert open_meteo.asked[1][1]["temperature_unit"] == ["fahrenheit"]


async def test_an_unknown_city_is_an_error_to_the_model(open_meteo: OpenMeteo) -> None:
    open_meteo.say("/v1/search", {"generationtime_ms": 0.4})
    with pytest.raises(ToolError, match="There is no city called 'Xyzzy'"):
        await ask(city="Xyzzy")


@pytest.mark.parametrize(
    ("status", "answer", "problem"),
    [
        (400, {"error": True, "reason": "Parameter 'latitude' out of range"}, r"refused the request \(HTTP 400\)"),
        (503, "<html>", r"refused the request \(HTTP 503\)"),
        (200, "<html>", "cannot be read"),
        (200, {"timezone": "Europe/Paris"}, "cannot be read"),
    ],
)
async def test_an_invalid_response_is_an_error_to_the_model(
    open_meteo: OpenMeteo, status: int, answer: Any, problem: str
) -> None:
    open_meteo.say("/v1/forecast", answer, status)
    with pytest.raises(ToolError, match=problem):
        await ask(city="Paris")


async def test_an_unreachable_service_is_an_error_to_the_model(settings: Settings) -> None:
    settings.ASSISTANT_WEATHER_GEOCODING_URL = "http://127.0.0.1:9"
    with pytest.raises(ToolError, match=r"The weather service cannot be reached\."):
        await ask(city="Paris")


async def test_a_service_that_does_not_answer_times_out(open_meteo: OpenMeteo) -> None:
    open_meteo.is_silent = True
    soon = datetime.now(UTC) + timedelta(seconds=0.5)
    with pytest.raises(ToolError, match="did not answer in time"):
        await ask(ToolContext(deadline=soon), city="Paris")

"""The weather: a tool that asks Open-Meteo for it."""

"""The websocket API."""

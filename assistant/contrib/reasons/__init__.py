"""An optional app that has models say why they call a tool."""

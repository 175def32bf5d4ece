"""JSON Schemas of tools: made from types, checked, made strict for providers."""

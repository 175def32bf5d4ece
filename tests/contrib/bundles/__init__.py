"""Bundles: their format, exports, imports and pages."""

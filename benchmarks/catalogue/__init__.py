"""An app whose tools fill the catalogue to 20 tools."""

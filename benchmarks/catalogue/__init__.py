"""An app whose tools fill the catalogue up to what a busy assistant has."""

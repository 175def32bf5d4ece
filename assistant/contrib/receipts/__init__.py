"""An optional app that ties what answers say to where it came from."""

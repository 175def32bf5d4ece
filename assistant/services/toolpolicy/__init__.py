"""Which tools a run may use: the catalogue, the switches, and the one function that decides."""

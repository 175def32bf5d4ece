"""With RECORD_RUNS naming a folder, every process of the suite writes down there the events of runs that it saw."""

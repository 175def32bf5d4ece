"""OpenTelemetry spans and metrics of tenants' runs."""

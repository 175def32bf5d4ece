"""What the OpenAPI schema says of the core's operations, by subject."""

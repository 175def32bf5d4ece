"""`assistant.testing`, as the tests of a host project use it."""

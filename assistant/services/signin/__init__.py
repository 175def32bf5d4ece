"""Sign-in with a password: how often it may be tried, and the record of what was tried."""

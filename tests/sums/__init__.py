"""An app of the suite's settings where no optional app is installed: tools of some, as the project's own."""

"""An app of the suite's settings where no optional app is installed: the calculator, as a tool of the project's own."""

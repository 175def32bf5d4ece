"""A tool with which the assistant asks the person questions, in a form."""

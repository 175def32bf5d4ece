"""Second factors on the page of a user in the control panel."""

from assistant.contrib.sign_in.admin import hidden  # noqa: F401 - it takes pages away

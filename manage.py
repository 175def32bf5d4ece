#!/usr/bin/env python
"""Django's command line for this deployment."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:2] == ["demo"]:
        # The demo is for one's own machine; a deployment names its settings itself.
        os.environ.setdefault("DEBUG", "true")
    from django.core.management import execute_from_command_line

    from assistant.services.tenancy.row_scope import all_tenants

    with all_tenants():
        # A person who may run commands here is the deployment's operator.
        execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()

#!/usr/bin/env python
"""The site's commands."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pages_settings")
    execute_from_command_line(sys.argv)

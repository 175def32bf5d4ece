"""Functions for operators' scripts and host projects, as those of `assistant.operations`: all data of one as a file."""

from assistant.contrib.data_exports.exports import export_tenant, export_user
from assistant.toolkit.unknown_options import list_options_of

__all__ = ["export_tenant", "export_user"]

list_options_of(__name__)

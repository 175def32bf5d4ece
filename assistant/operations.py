"""Functions for operators' scripts and host projects: what the admin and the commands do to tenants.

These are the public names of the services. Import them from here, after `django.setup()`; the modules that define them
may move. `actor` is the user whom the audit trail names, or None for a script.
"""

from assistant.services.assistants.prompt_values import UnknownVariables
from assistant.services.assistants.prompts import PromptNotEditableError, draft_prompt, edit_draft, publish_prompt
from assistant.services.knowledge.documents import add_document
from assistant.services.knowledge.files import DocumentError
from assistant.services.privacy.erasure import erase_tenant, erase_user
from assistant.services.privacy.retention import apply_retention
from assistant.services.tenancy.api_keys import revoke_api_keys
from assistant.services.tenancy.members import create_api_key
from assistant.services.tenancy.memberships import add_member, set_role
from assistant.services.tenancy.row_scope import all_tenants
from assistant.services.tenancy.tenants import create_tenant
from assistant.toolkit.unknown_options import list_options_of

__all__ = [
    "DocumentError",
    "PromptNotEditableError",
    "UnknownVariables",
    "add_document",
    "add_member",
    "all_tenants",
    "apply_retention",
    "create_api_key",
    "create_tenant",
    "draft_prompt",
    "edit_draft",
    "erase_tenant",
    "erase_user",
    "publish_prompt",
    "revoke_api_keys",
    "set_role",
]

list_options_of(__name__)

"""The database models: tenants, assistants, conversations, runs, usage and the audit trail."""

from assistant.models.assistants import Assistant, Provider
from assistant.models.audit import AuditEntry
from assistant.models.conversations import Conversation, Feedback, Message
from assistant.models.files import Attachment, ToolFile
from assistant.models.idempotency import IdempotentAnswer
from assistant.models.incidents import Incident
from assistant.models.jobs import Job
from assistant.models.knowledge import Document, Passage
from assistant.models.limits import QuotaUse, TenantLimits
from assistant.models.people import CustomRole, PersonSettings
from assistant.models.prompts import PromptVariable, PromptVersion
from assistant.models.retention import Retention
from assistant.models.runs import Approval, Run, RunConfiguration, ToolCall
from assistant.models.signin import SignInCount, SignInDevice
from assistant.models.tenants import ApiKey, ApiKeyUse, Membership, Tenant
from assistant.models.tool_settings import ToolSetting
from assistant.models.toolblocks import ToolBlock
from assistant.models.usage import UsageEntry

__all__ = [
    "ApiKey",
    "ApiKeyUse",
    "Approval",
    "Assistant",
    "Attachment",
    "AuditEntry",
    "Conversation",
    "CustomRole",
    "Document",
    "Feedback",
    "IdempotentAnswer",
    "Incident",
    "Job",
    "Membership",
    "Message",
    "Passage",
    "PersonSettings",
    "PromptVariable",
    "PromptVersion",
    "Provider",
    "QuotaUse",
    "Retention",
    "Run",
    "RunConfiguration",
    "SignInCount",
    "SignInDevice",
    "Tenant",
    "TenantLimits",
    "ToolBlock",
    "ToolCall",
    "ToolFile",
    "ToolSetting",
    "UsageEntry",
]

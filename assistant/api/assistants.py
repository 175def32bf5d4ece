"""A tenant's assistants, and the tools that each may use for the caller."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.authentication import not_found
from assistant.api.base import TenantView
from assistant.api.serializers import AssistantOut, ToolOut
from assistant.services.assistants.configuration import active_assistants, find_assistant
from assistant.services.toolpolicy.conditions import as_offered
from assistant.services.toolpolicy.policy import effective_tools


class Assistants(TenantView):
    """The active assistants."""

    def get(self, request: Request) -> Response:
        return Response(AssistantOut(active_assistants(tenant_id=self.member.tenant_id), many=True).data)


class OneAssistant(TenantView):
    """One active assistant."""

    def get(self, request: Request, assistant: str) -> Response:
        found = find_assistant(tenant_id=self.member.tenant_id, slug=assistant)
        if found is None:
            raise not_found()
        return Response(AssistantOut(found).data)


class EffectiveTools(TenantView):
    """All tools of the catalogue: whether the assistant may use each for the caller, and the rule that decided."""

    def get(self, request: Request, assistant: str) -> Response:
        found = find_assistant(tenant_id=self.member.tenant_id, slug=assistant)
        if found is None:
            raise not_found()
        tools = effective_tools(tenant_id=self.member.tenant_id, user_id=self.member.user_id, assistant_id=found.pk)
        return Response(ToolOut(as_offered(tools, member=self.member, assistant_slug=found.slug), many=True).data)

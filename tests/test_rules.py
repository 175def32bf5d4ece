"""No query without its tenant, no HTML marked as safe, no view without CSRF, no secret in a log call."""

from __future__ import annotations

from functools import cache

import pytest
from django.conf import settings

from tests.isolation.planting import tenant_models
from tests.rules import Finding, findings, sources, template_findings

QUERY, SQL, HTML = "a query without its tenant", "SQL by hand", "trusted HTML"
CSRF, LOGGED = "csrf_exempt", "a secret in a log call"

ALL_TENANTS = "the deployment's own housekeeping, of all tenants"
LEAVING = "an operator's command: what belongs to one tenant or one person, in all tenants"
NEXT = "narrowed to the caller's tenants in the next statement"
SANITISED = "what the renderer has sanitised, as in the chat"
OF_A_ROW = "by a row that the caller found in its tenant"
OPERATOR = "an operator's, or narrowed to the tenants that the user administers"
USERS = "of users, who belong to no tenant"
JOINING = "the tenants that a proven e-mail address leads to, before any is known"
BY_KEY = "by API key, in whose door no cookie counts"
THROWN_AWAY = "of a database that the command makes and throws away"
UNINSTALLED = "of all tenants, whose rows an operator removes"
EXPOSED = "of an exposed model: `of_tenant` of the same module narrows it"
ALLOWED = {
    (QUERY, "assistant/contrib/change_sets/admin/panel.py:addresses_of_sets"): OPERATOR,
    (QUERY, "assistant/contrib/change_sets/admin/panel.py:waiting_sets"): OPERATOR,
    (QUERY, "assistant/contrib/change_sets/admin/sets.py:ChangeSetForm.__init__"): OPERATOR,
    (QUERY, "assistant/contrib/change_sets/admin/sets.py:asked_version"): OPERATOR,
    (QUERY, "assistant/contrib/change_sets/admin/who_is_affected.py:applied_of"): OPERATOR,
    (QUERY, "assistant/contrib/change_sets/services/acts.py:begin"): OPERATOR,
    (QUERY, "assistant/contrib/change_sets/services/acts.py:_newest_entry"): "a number, of no tenant",
    (QUERY, "assistant/contrib/change_sets/services/acts.py:take_back"): OPERATOR,
    (QUERY, "assistant/contrib/change_sets/services/acts.py:widen"): OPERATOR,
    (QUERY, "assistant/contrib/change_sets/services/audience.py:tenants_of_set"): OPERATOR,
    (QUERY, "assistant/contrib/change_sets/services/timing.py:_begin"): ALL_TENANTS,
    (QUERY, "assistant/contrib/change_sets/services/timing.py:look_for_moments"): ALL_TENANTS,
    (QUERY, "assistant/contrib/change_sets/services/timing.py:watch"): ALL_TENANTS,
    (QUERY, "assistant/contrib/change_sets/shares.py:changes_of_shares"): NEXT,
    (QUERY, "assistant/contrib/panel/admin/settings/audit.py:AuditPages.parts"): "none()",
    (QUERY, "assistant/contrib/provider_health/admin/health_page.py:_chosen"): OPERATOR,
    (QUERY, "assistant/contrib/provider_health/admin/health_page.py:health_page"): OPERATOR,
    (QUERY, "assistant/contrib/provider_health/services/answers.py:_asked_since"): ALL_TENANTS,
    (QUERY, "assistant/contrib/panel/services/audit_acts.py:mark_act"): "entries that an act has just made",
    (QUERY, "assistant/contrib/panel/services/undone_switches.py:lead_change"): "read above, of its tenants",
    (QUERY, "assistant/contrib/data/admin/reach_page.py:ChoiceForm"): OPERATOR,
    (QUERY, "assistant/contrib/data/admin/reach_page.py:ChoiceForm.__init__"): OPERATOR,
    (SQL, "assistant/contrib/data/services/reading.py:_OnlyReads.__call__"): "the statement that a queryset has made",
    (SQL, "assistant/contrib/data/services/reading.py:_time_limit"): "the transaction's own settings",
    (QUERY, "assistant/contrib/data/services/rows.py:loaded"): USERS,
    (QUERY, "assistant/contrib/data/services/row_changes.py:plan_sources"): ALL_TENANTS,
    (QUERY, "assistant/contrib/data/services/row_documents.py:_seen"): "of keys that the member may see",
    (QUERY, "assistant/contrib/data/services/row_documents.py:rows_of_tenant"): "by the declared path to the tenant",
    (QUERY, "assistant/contrib/data/services/row_signals.py:_changed"): "of one row of the project, for its tenants",
    (QUERY, "assistant/contrib/data/services/row_signals.py:_tenants_of"): "the tenants of one row of the project",
    (QUERY, "assistant/contrib/data/services/structure.py:rules_of"): "the names of managers, without a query",
    (QUERY, "assistant/contrib/data/services/tenant_conditions.py:_by"): "by the declared path to the call's tenant",
    (SQL, "assistant/contrib/data/services/prove/throwaway.py:_end_sessions"): THROWN_AWAY,
    (QUERY, "assistant/contrib/data/services/prove/seeding.py:_show"): THROWN_AWAY,
    (QUERY, "assistant/contrib/data/services/prove/watching.py:Watch._read"): THROWN_AWAY,
    (QUERY, "assistant/contrib/data/services/prove/watching.py:Watch.delete"): THROWN_AWAY,
    (QUERY, "assistant/contrib/data/services/prove/watching.py:Watch.owners"): THROWN_AWAY,
    (QUERY, "assistant/contrib/data/services/prove/watching.py:Watch.restore"): THROWN_AWAY,
    (
        QUERY,
        "assistant/contrib/data/services/read_rows.py:_check",
    ): "of rows that a call has loaded",
    (QUERY, "assistant/contrib/data/services/view_calls.py:member_of"): USERS,
    (QUERY, "assistant/contrib/data/services/visible_rows.py:_may_view"): USERS,
    (QUERY, "assistant/contrib/data/services/visible_rows.py:_user"): USERS,
    (QUERY, "assistant/contrib/data/services/visible_rows.py:rows_of_admin"): EXPOSED,
    (QUERY, "assistant/contrib/data/services/visible_rows.py:_rows_of_manager"): EXPOSED,
    (QUERY, "assistant/contrib/data/services/visible_rows.py:tenants_rows"): EXPOSED,
    (QUERY, "assistant/contrib/collections/services/row_changes.py:_changes"): OF_A_ROW,
    (QUERY, "assistant/contrib/gaps/api.py:_acting"): USERS,
    (QUERY, "assistant/contrib/gaps/services/checking.py:check_documents"): "doubts of the one tenant, made above",
    (
        QUERY,
        "assistant/contrib/evaluations/services/evaluations/evaluations.py:make_evaluation",
    ): "cases of the one evaluation, made above",
    (QUERY, "assistant/contrib/improvements/services/grouping.py:_store"): "cases of the one tenant, made above",
    (QUERY, "assistant/contrib/deploy/uninstalling.py:remove_data"): UNINSTALLED,
    (QUERY, "assistant/contrib/deploy/uninstalling.py:stored_files"): UNINSTALLED,
    (QUERY, "assistant/contrib/deploy/uninstalling.py:tables"): UNINSTALLED,
    (QUERY, "assistant/contrib/panel/admin/settings/keys.py:ApiKeyAdmin.used"): OF_A_ROW,
    (QUERY, "assistant/admin/base/tenant_scope.py:_choices_of"): OPERATOR,
    (QUERY, "assistant/admin/base/visible_tenants.py:tenants_of"): OPERATOR,
    (QUERY, "assistant/admin/base/visible_tenants.py:reachable_tenants"): OPERATOR,
    (QUERY, "assistant/contrib/panel/admin/tenants/wizard.py:suggestions"): "the operator's choice of tenants to copy",
    (
        QUERY,
        "assistant/contrib/panel/admin/tenants/wizard.py:NewTenantForm.clean_copy_of",
    ): "the operator's choice",
    (QUERY, "assistant/contrib/panel/services/new_tenant.py:check_new_slug"): "whether any tenant has a short name",
    (
        QUERY,
        "assistant/contrib/panel/reports/search.py:_people",
    ): NEXT,
    (
        QUERY,
        "assistant/contrib/panel/reports/search.py:_keys",
    ): NEXT,
    (
        QUERY,
        "assistant/contrib/mcp_servers/admin/panel.py:tools_called",
    ): NEXT,
    (QUERY, "assistant/services/tenancy/audit_trail.py:actor_of"): USERS,
    (QUERY, "assistant/services/tenancy/person_settings.py:language_of_address"): USERS,
    (QUERY, "assistant/contrib/invitations/invitations.py:_lock"): OF_A_ROW,
    (QUERY, "assistant/contrib/invitations/invitations.py:accept_as_new"): USERS,
    (QUERY, "assistant/contrib/invitations/invitations.py:account_of"): USERS,
    (QUERY, "assistant/contrib/deploy/site.py:_tenants"): ALL_TENANTS,
    (QUERY, "assistant/hosting.py:_follow_many_to_many.receive"): "the host project's own tenants",
    (QUERY, "assistant/hosting.py:_sync_if_exists"): "the host project's own tenants",
    (QUERY, "assistant/hosting.py:_tenants_of_people"): "of the people of a membership that the host project saved",
    (QUERY, "assistant/hosting.py:_delete_tenant"): "a tenant that the host project deleted",
    (QUERY, "assistant/hosting.py:host_scope"): "a tenant that the host project's code names",
    (QUERY, "assistant/contrib/end_users/hosting.py:_slug_of"): "a tenant that the host project's code names",
    (QUERY, "assistant/services/tenancy/sessions.py:live_sessions"): "sessions, which belong to no tenant",
    (QUERY, "assistant/testing/tools.py:find_tenant"): "a tenant that the host project's test names",
    (QUERY, "assistant/hosting.py:restore_tenant"): "a tenant that the host project's code names",
    (QUERY, "assistant/hosting.py:sync_all"): ALL_TENANTS,
    (QUERY, "assistant/contrib/mcp_server/tenant_sources.py:_documents"): "none()",
    (QUERY, "assistant/services/privacy/ownership.py:owned_rows"): LEAVING,
    (QUERY, "assistant/services/privacy/erasure.py:_delete"): LEAVING,
    (QUERY, "assistant/services/privacy/erasure.py:_erase_person"): LEAVING,
    (QUERY, "assistant/contrib/invitations/ended_rows.py:delete_those_of"): LEAVING,
    (QUERY, "assistant/services/privacy/names.py:replace_names"): LEAVING,
    (QUERY, "assistant/contrib/insights/services/retention.py:_remove_recipients"): LEAVING,
    (QUERY, "assistant/services/privacy/erasure.py:_delete_orphaned_log_entries"): LEAVING,
    (QUERY, "assistant/services/privacy/erasure.py:_delete_event_logs"): LEAVING,
    (
        QUERY,
        "assistant/contrib/end_users/services/directory.py:StoredEndUsers.find",
    ): "an end user, who is of one tenant alone",
    (QUERY, "assistant/services/tenancy/end_users.py:is_end_user"): "an end user, who is of one tenant alone",
    (QUERY, "assistant/services/privacy/erasure.py:count_tenant"): LEAVING,
    (QUERY, "assistant/services/privacy/erasure.py:erase_tenant"): LEAVING,
    (QUERY, "assistant/contrib/data_exports/exports.py:export_user"): LEAVING,
    (QUERY, "assistant/services/assistants/configuration.py:with_prompt"): OF_A_ROW,
    (QUERY, "assistant/contrib/insights/services/summing.py:claim_tenants"): ALL_TENANTS,
    (QUERY, "assistant/contrib/panel/sums/summing.py:claim_sums"): ALL_TENANTS,
    (QUERY, "assistant/services/files/attachments.py:delete_forgotten"): ALL_TENANTS,
    (QUERY, "assistant/contrib/mcp_server/direct_journal.py:expire_calls"): ALL_TENANTS,
    (QUERY, "assistant/services/limits/shared_queue.py:runs_before"): ALL_TENANTS,
    (QUERY, "assistant/services/limits/shared_queue.py:hand_over"): ALL_TENANTS,
    (QUERY, "assistant/services/jobs/jobs.py:look_for_jobs"): ALL_TENANTS,
    (QUERY, "assistant/services/privacy/daily_retention.py:plan_retention"): ALL_TENANTS,
    (QUERY, "assistant/services/jobs/jobs.py:do_job"): ALL_TENANTS,
    (QUERY, "assistant/services/jobs/jobs.py:_fail"): ALL_TENANTS,
    (QUERY, "assistant/services/jobs/jobs.py:_try_again"): ALL_TENANTS,
    (
        QUERY,
        "assistant/contrib/demo/management/commands/assistant_seed.py:Command.handle",
    ): "whether it ran before",
    (QUERY, "assistant/contrib/demo/seeds/rows.py:Rows.store"): "rows that the command made, each with its tenant",
    (QUERY, "assistant/contrib/demo/seeds/rows.py:_people"): USERS,
    (QUERY, "assistant/contrib/demo/seeds/rows.py:seed"): "tenants that the command makes",
    (QUERY, "assistant/contrib/demo/tenants.py:_assistant"): OF_A_ROW,
    (QUERY, "assistant/contrib/demo/tenants.py:load_demo_tenants"): USERS,
    (QUERY, "assistant/contrib/deploy/key_rotation.py:_rotate"): "the deployment's keys, an operator's command",
    (QUERY, "assistant/services/runs/approval_expiry.py:expire_approvals"): ALL_TENANTS,
    (QUERY, "assistant/contrib/temporary/deleting.py:delete_temporary"): ALL_TENANTS,
    (QUERY, "assistant/services/conversations/feedback.py:_answer"): "within the member's own conversations",
    (QUERY, "assistant/services/runs/cancelling.py:cancel_runs_without_access"): ALL_TENANTS,
    (QUERY, "assistant/services/runs/cancelling.py:cancel_runs_and_wait"): LEAVING,
    (QUERY, "assistant/services/limits/api_key_requests.py:_update"): "by the key that the caller came with",
    (QUERY, "assistant/services/limits/api_key_requests.py:_take"): "by the key that the caller came with",
    (QUERY, "assistant/services/runs/leases.py:take_over_dead_runs.look"): ALL_TENANTS,
    (QUERY, "assistant/services/runs/leases.py:_take_over"): ALL_TENANTS,
    (QUERY, "assistant/services/runs/leases.py:renew_leases"): ALL_TENANTS,
    (QUERY, "assistant/contrib/mcp_servers/services/member_credentials.py:delete_own_credentials"): OF_A_ROW,
    (QUERY, "assistant/contrib/mcp_servers/services/member_credentials.py:own_connections"): OF_A_ROW,
    (QUERY, "assistant/contrib/mcp_servers/services/member_credentials.py:set_own_credentials"): OF_A_ROW,
    (QUERY, "assistant/contrib/mcp_servers/services/tool_listings.py:_store"): OF_A_ROW,
    (QUERY, "assistant/services/tenancy/members.py:create_api_key"): "narrowed to the tenant in the next statement",
    (
        QUERY,
        "assistant/services/tenancy/members.py:active_keys",
    ): "a condition; callers compare the tenant",
    (QUERY, "assistant/services/tenancy/memberships.py:add_member"): USERS,
    (QUERY, "assistant/services/tenancy/memberships.py:find_user"): USERS,
    (QUERY, "assistant/services/signin/guard.py:_record"): USERS,
    (QUERY, "assistant/services/tenancy/email_domains.py:tenants_of"): JOINING,
    (QUERY, "assistant/contrib/invitations/at_sign_in.py:has_proven"): JOINING,
    (QUERY, "assistant/contrib/invitations/at_sign_in.py:_invitations_to"): JOINING,
    (QUERY, "assistant/contrib/sign_in/services/joining.py:account_with"): USERS,
    (QUERY, "assistant/contrib/sign_in/services/joining.py:is_connected"): USERS,
    (QUERY, "assistant/contrib/sign_in/services/joining.py:disconnect"): USERS,
    (QUERY, "assistant/services/signin/devices.py:known_device"): USERS,
    (QUERY, "assistant/contrib/sign_in/services/policy.py:authenticators_of"): USERS,
    (QUERY, "assistant/contrib/sign_in/services/policy.py:is_required_of"): USERS,
    (
        QUERY,
        "assistant/contrib/sign_in/stored_secrets.py:_rotate",
    ): "the deployment's keys, an operator's command",
    (QUERY, "assistant/services/runs/reading/stored_thread.py:stored_thread"): "within the member's own conversations",
    (
        QUERY,
        "assistant/services/conversations/stored_messages.py:store_messages",
    ): "new rows, each with its conversation",
    (QUERY, "assistant/services/toolcalls/run_journal.py:_begin_calls"): "new rows, each with its tenant",
    (QUERY, "assistant/services/toolcalls/run_journal.py:record_outcomes"): "new rows, each with its tenant",
    (QUERY, "assistant/services/assistants/provider_use.py:tenants_of"): OF_A_ROW,
    (QUERY, "assistant/contrib/panel/reports/provider_use.py:uses_of"): OF_A_ROW,
    (QUERY, "assistant/contrib/panel/services/key_rotation.py:may_rotate"): USERS,
    (QUERY, "assistant/services/assistants/prompts.py:lock_assistant"): OF_A_ROW,
    (QUERY, "assistant/contrib/panel/services/message_search.py:with_words"): "within the caller's conversations",
    (QUERY, "assistant/contrib/panel/reports/tenants.py:tenant_reports"): "the caller's tenants",
    (QUERY, "assistant/contrib/panel/services/quota_report.py:use_of_members"): USERS,
    (QUERY, "assistant/services/assistants/prompts.py:draft_prompt"): OF_A_ROW,
    (QUERY, "assistant/services/assistants/prompts.py:next_number"): OF_A_ROW,
    (QUERY, "assistant/services/assistants/prompts.py:publish_prompt"): OF_A_ROW,
    (
        QUERY,
        "assistant/contrib/mcp_servers/services/tool_source.py:McpTools.knows",
    ): "whether any tenant has a tool, for operators",
    (QUERY, "assistant/services/toolpolicy/switch_changes.py:_store"): "new rows, each with its tenant",
    (QUERY, "assistant/admin/base/merging.py:MergingAdmin.get_object"): "locks the row that the page may show",
    (SQL, "assistant/services/db/write_probe.py:_short_wait"): "SQLite's setting for a busy database",
    (SQL, "assistant/services/db/clock.py:database_time"): "the time alone",
    (SQL, "assistant/services/runs/leases.py:checkpoint_runs"): "of one tenant, which it names",
    (SQL, "assistant/services/db/fast_paths/prepared_queries.py:PreparedQuery.rows"): "as Django's compiler wrote it",
    (SQL, "assistant/management/operator.py:OperatorCommand.execute"): "Django's name for running a command",
    (SQL, "assistant/contrib/row_level_security/policies.py:_create_role"): "an operator's command, with quoted names",
    (SQL, "assistant/contrib/row_level_security/policies.py:_has_active_policy"): "of PostgreSQL's own tables",
    (SQL, "assistant/contrib/row_level_security/policies.py:_prepare_role"): "an operator's command, with quoted names",
    (SQL, "assistant/contrib/row_level_security/policies.py:install"): "an operator's command, with quoted names",
    (SQL, "assistant/contrib/row_level_security/policies.py:find_problems"): "of PostgreSQL's own tables",
    (SQL, "assistant/contrib/row_level_security/policies.py:_tables_with_policy"): "of PostgreSQL's own tables",
    (SQL, "assistant/contrib/row_level_security/policies.py:_tables_without_rights"): "of PostgreSQL's own tables",
    (SQL, "assistant/services/limits/runs_at_once.py:lock_tenant"): "PostgreSQL's setting for waiting for a lock",
    (SQL, "assistant/contrib/row_level_security/policies.py:remove"): "an operator's command, with quoted names",
    (SQL, "assistant/services/knowledge/full_text.py:remove_deleted"): "the index of all tenants, without a parameter",
    (SQL, "assistant/contrib/row_level_security/policies.py:with_tenants"): "hands on the statement that it was given",
    (SQL, "assistant/services/knowledge/full_text.py:_counts"): "a full-text search in the tenant's own passages",
    (SQL, "assistant/services/knowledge/full_text.py:_candidates"): "a full-text search in the tenant's own passages",
    (HTML, "assistant/contrib/docs/templates/assistant/docs/page.html"): "the documents of this repository",
    (
        HTML,
        "assistant/contrib/panel/admin/conversations/thread.py:markdown_html",
    ): SANITISED,
    (HTML, "assistant/pages/base_template.py:render_page"): "a page that the template engine has rendered",
    (HTML, "assistant/contrib/shares/pages.py:_html"): SANITISED,
    (CSRF, "assistant/contrib/openai_api/api/endpoint.py:endpoint.wrapped"): BY_KEY,
    (CSRF, "assistant/contrib/openai_api/api/elsewhere.py:nothing_here"): "404 for everybody",
    (CSRF, "assistant/api/authentication.py:nothing_here"): "404 for everybody",
    (CSRF, "assistant/contrib/later_results/api.py:pending_result"): "by the token of a call; no cookie counts",
}

# An example of each breach that a rule must find.
PLANTED = {
    "Conversation.objects.get(pk=thread)": QUERY,
    "rows = list(Message.objects.all())": QUERY,
    "from assistant.models import Message as Row\nRow.objects.filter(conversation=1).delete()": QUERY,
    "def f(model):\n    return model._default_manager.get(pk=1)": QUERY,
    "with x(Run.objects.get(pk=1)):\n    tenant = 1": QUERY,
    "if Run.objects.filter(pk=1).exists():\n    tenant = 1": QUERY,
    "cursor.execute(f'SELECT {name}')": SQL,
    "Model.objects.filter(tenant=t).extra(where=[text])": SQL,
    "mark_safe(text)": HTML,
    "safestring.SafeString(text)": HTML,
    "@csrf_exempt\ndef view(request): ...": CSRF,
    "urls = [path('x/', csrf.csrf_exempt(view))]": CSRF,
    "logger.info('Asked with %s', provider.api_key)": LOGGED,
    "logger.warning(f'refused {token}')": LOGGED,
    "logging.getLogger().error('x', extra={'h': request.headers})": LOGGED,
    "logger.debug('%s', config['password'])": LOGGED,
    "logger.exception('%s', str(context.secrets))": LOGGED,
    "log_operation(logger, context, 'with %s', assistant.system_prompt)": LOGGED,
}
FINE = (
    "Conversation.objects.filter(tenant_id=member.tenant_id, pk=thread)",
    "User.objects.get(pk=1)",
    "logger.info('Run %s of tenant %s', key.run_id, key.tenant_id)",
    "logger.info('%d tokens', usage.input_tokens)",
    "format_html('<b>{}</b>', text)",
)


def model_names() -> set[str]:
    return {model.__name__ for model in tenant_models()}


@cache
def all_findings() -> list[Finding]:
    names = model_names()
    found = [one for path, file in sources(settings.BASE_DIR) for one in findings(file.read_text(), path, names)]
    for folder in (settings.BASE_DIR / "templates", settings.BASE_DIR / "assistant"):
        for file in sorted(folder.rglob("*.html")):
            found += template_findings(file.read_text(), file.relative_to(settings.BASE_DIR).as_posix())
    return found


def test_nothing_breaks_the_rules() -> None:
    assert [str(one) for one in all_findings() if (one.rule, one.place) not in ALLOWED] == []


def test_every_exception_is_still_needed() -> None:
    assert set(ALLOWED) - {(one.rule, one.place) for one in all_findings()} == set()


@pytest.mark.parametrize(("source", "rule"), PLANTED.items())
def test_a_planted_breach_is_found(source: str, rule: str) -> None:
    assert rule in {one.rule for one in findings(source, "planted.py", model_names())}


@pytest.mark.parametrize("source", FINE)
def test_code_that_keeps_the_rules_is_not_reported(source: str) -> None:
    assert list(findings(source, "planted.py", model_names())) == []


@pytest.mark.parametrize("text", ["{{ answer|safe }}", "{% autoescape off %}{{ answer }}{% endautoescape %}"])
def test_a_template_that_trusts_html_is_found(text: str) -> None:
    assert list(template_findings(text, "planted.html"))

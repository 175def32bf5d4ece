"""Writes the files of a deployment from templates, in which `@name@` stands for a value."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from django.conf import settings

from assistant.asgi.body_limits import BODY_TIMEOUT_SECONDS
from assistant.asgi.json_apis import apis
from assistant.asgi.mounts import prefixes
from assistant.contrib.deploy.content_policy import POLICY
from assistant.contrib.deploy.plan import DeploymentPlan
from assistant.core.values.frame_sizes import MAX_SERVER_FRAME

HTTPS = 443
TEMPLATES = Path(__file__).parent / "file_templates"
# The files whose names contain the service's name.
_NAMED = {
    "server.service": "{}@.service",
    "worker.service": "{}-worker@.service",
    "retention.service": "{}-retention.service",
    "retention.timer": "{}-retention.timer",
}
_NGINX_UPLOADS = """\
    # Where files are uploaded; limited as the APIs below, with which they are counted.
    location ~ ^({paths}) {{
        client_max_body_size {upload_mib}m;
        limit_req  zone={upstream}_requests burst=200 nodelay;
        limit_conn {upstream}_connections 2000;
        error_page 429 = @too_many_requests;
        proxy_pass http://{upstream};
    }}

"""
_NGINX_BOUNDS = """\
    # As ASSISTANT_MAX_BODY_BYTES ({body_kib} KiB) and ASSISTANT_MAX_UPLOAD_BYTES ({upload_mib} MiB, below), and as long
    # as the process waits for a body.
    client_max_body_size {body_kib}k;
    client_body_timeout  {body_timeout}s;

"""
# The project's other addresses have its own bounds.
_NGINX_BOUNDS_BELOW = """\
    # As ASSISTANT_MAX_BODY_BYTES ({body_kib} KiB) and ASSISTANT_MAX_UPLOAD_BYTES ({upload_mib} MiB, below), and as long
    # as the process waits for a body.
    location {mount} {{
        client_max_body_size {body_kib}k;
        client_body_timeout  {body_timeout}s;
        proxy_pass http://{upstream};
    }}

"""
_NGINX_API_BOUNDS = """\
        client_max_body_size {body_kib}k;
        client_body_timeout  {body_timeout}s;
"""
_NGINX_STATIC = """\
    # What `collectstatic` has collected. Pages of other origins load the widget.
    location {url} {{
        alias {root}/;
        add_header Access-Control-Allow-Origin *;
        expires 1m;
    }}

"""
_NGINX_POLICY_MAP = """\
# Of the assistant's pages, unless the project sends one of its own.
map "$upstream_http_content_security_policy$uri" ${upstream}_policy {{
    default '';
    ~^({pages}) "{policy}";
}}

"""
_NGINX_POLICY = """\
    add_header Content-Security-Policy ${upstream}_policy always;

"""
_NGINX_PROBES = """\
    location = {mount}metrics {{ return 404; }}
    location = {mount}readyz  {{ return 404; }}"""
_CADDY_PROBES = """\
	respond {mount}metrics 404
	respond {mount}readyz 404"""
_CADDY_POLICY = """\
	# Of the assistant's pages, unless the project sends one of its own.
	@pages path {pages}
	header @pages ?Content-Security-Policy "{policy}"
"""
_CADDY_UPLOADS = """\
	@uploads path {paths}
	@others {{
		path {below}
		not path {paths}
	}}
	request_body @uploads {{
		max_size {upload_mib}MiB
	}}
	request_body @others {{
		max_size {body_kib}KiB
	}}
"""
_CADDY_BODIES = """\
	@others path {below}
	request_body @others {{
		max_size {body_kib}KiB
	}}
"""
_CADDY_STATIC = """\
	# What `collectstatic` has collected. Pages of other origins load the widget.
	handle_path {url}* {{
		root * {root}
		header Access-Control-Allow-Origin *
		file_server
	}}
"""


def deployment_files(plan: DeploymentPlan) -> dict[str, str]:
    """Return the text of each file by its name."""
    values = _values(plan)
    return {
        _NAMED.get(template.name, template.name).format(plan.name): _filled(template.read_text(), values)
        for template in sorted(TEMPLATES.iterdir())
    }


def _filled(text: str, values: Mapping[str, str]) -> str:
    # Only names of values: nginx has named locations with an @, and compose addresses.
    return re.sub(rf"@({'|'.join(values)})@", lambda found: values[found[1]], text)


def _values(plan: DeploymentPlan) -> dict[str, str]:
    upstream = re.sub(r"\W", "_", plan.name)
    mounts = tuple(dict.fromkeys((*plan.mounts, *plan.pages)))
    has_whole_site = "/" in mounts
    sizes = {
        "body_timeout": BODY_TIMEOUT_SECONDS,
        "body_kib": settings.ASSISTANT_MAX_BODY_BYTES // 1024,
        "upload_mib": settings.ASSISTANT_MAX_UPLOAD_BYTES // 1024**2,
    }
    apis_below = ("ws/", *(api.prefix for api in apis()), *prefixes())
    limited = (f"{mount}{address}".strip("/") for mount in plan.mounts for address in apis_below)
    has_static = bool(plan.static_url and plan.static_root)
    static = {"url": plan.static_url, "root": plan.static_root.rstrip("/")}
    patterns = " ".join(f"{path}*" for path in plan.uploads)
    # Of pages that are the project's too it cannot be known here what they need.
    has_policy = "/" not in plan.pages and not settings.ASSISTANT_BASE_TEMPLATE
    policy = {"upstream": upstream, "policy": POLICY}
    nginx_policy = policy | {"pages": "|".join(map(re.escape, plan.pages))}
    caddy_policy = policy | {"pages": " ".join(f"{mount}*" for mount in plan.pages)}
    nginx_uploads = _NGINX_UPLOADS.format(
        paths="|".join(re.escape(path).replace(r"\*", "[^/]+") for path in plan.uploads), upstream=upstream, **sizes
    )
    nginx_mounts = "".join(_NGINX_BOUNDS_BELOW.format(mount=mount, upstream=upstream, **sizes) for mount in mounts)
    below = " ".join(f"{mount}*" for mount in mounts)
    return {
        **{name: str(size) for name, size in sizes.items()},
        **{name: str(getattr(plan, name)) for name in ("host", "name", "title", "directory", "user", "env_file")},
        **{name: str(getattr(plan, name)) for name in ("asgi", "settings_module", "environment", "server_environment")},
        **{name: str(getattr(plan, name)) for name in ("listen", "certificate", "certificate_key")},
        "mount": plan.mounts[0],
        "nginx_probes": "\n".join(_NGINX_PROBES.format(mount=mount) for mount in plan.mounts),
        "caddy_probes": "\n".join(_CADDY_PROBES.format(mount=mount) for mount in plan.mounts),
        "container_environment": " \\\n    ".join(plan.server_environment.split()),
        "upstream": upstream,
        "role": upstream,
        "frame_bytes": str(MAX_SERVER_FRAME),
        "instances": " ".join(f"{plan.name}@{port}" for port in plan.ports),
        "nginx_servers": "\n".join(f"    server 127.0.0.1:{port} max_fails=2 fail_timeout=5s;" for port in plan.ports),
        "caddy_servers": " ".join(f"127.0.0.1:{port}" for port in plan.ports),
        "api_paths": "|".join(limited),
        "nginx_bodies": _NGINX_BOUNDS.format(**sizes) if has_whole_site else "",
        "nginx_api_bodies": "" if has_whole_site else _NGINX_API_BOUNDS.format(**sizes),
        "nginx_mounts": "" if has_whole_site else nginx_mounts,
        "nginx_uploads": nginx_uploads if plan.uploads else "",
        "nginx_host": "$host" if plan.listen == HTTPS else "$host:$server_port",
        "nginx_policy_map": _NGINX_POLICY_MAP.format(**nginx_policy) if has_policy else "",
        "nginx_policy": _NGINX_POLICY.format(**policy) if has_policy else "",
        "caddy_site": plan.host if plan.listen == HTTPS else f"{plan.host}:{plan.listen}",
        "caddy_policy": _CADDY_POLICY.format(**caddy_policy) if has_policy else "",
        "nginx_static": _NGINX_STATIC.format(**static) if has_static else "",
        "caddy_bodies": (_CADDY_UPLOADS if plan.uploads else _CADDY_BODIES).format(
            paths=patterns, below=below, **sizes
        ),
        "caddy_static": _CADDY_STATIC.format(**static) if has_static else "",
        "folder_from_project": os.path.relpath(plan.folder, plan.project),
        "project_from_folder": os.path.relpath(plan.project, plan.folder),
    }

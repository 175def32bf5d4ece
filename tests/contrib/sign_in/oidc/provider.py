"""An OpenID Connect provider of the tests' own: metadata, keys, tokens and user info over HTTP, as real ones have."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT_ID, CLIENT_SECRET, CODE = "tenant-assistant", "s3cret-of-the-client", "code-1"
KEY, OTHER_KEY = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))


@dataclass
class Provider:
    """What the provider says; tests change it.

    Attributes:
        claims: those of the ID token. None leaves a claim out.
        challenge: what the client has asked with (PKCE).
    """

    url: str = ""
    issuer: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    info: dict[str, Any] | None = None
    key: Any = KEY
    algorithm: str = "RS256"
    kid: str | None = "k1"
    challenge: str = ""
    id_token: str | None = None
    asked: list[str] = field(default_factory=list)

    def metadata(self) -> dict[str, Any]:
        found = {
            "issuer": self.issuer or self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        }
        return found | ({"userinfo_endpoint": f"{self.url}/info"} if self.info is not None else {})

    def keys(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key()))
        return {"keys": [{**public, "kid": "k1", "use": "sig", "alg": "RS256"}]}

    def token(self, form: dict[str, list[str]], authorization: str) -> dict[str, Any]:
        digest = hashlib.sha256(form["code_verifier"][0].encode()).digest()
        assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == self.challenge
        assert form["code"] == [CODE]
        name, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        assert (name, secret) == (CLIENT_ID, CLIENT_SECRET)
        headers = {"kid": self.kid} if self.kid else {}
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + 300, **self.claims}
        stated = {key: value for key, value in claims.items() if value is not None}
        made = self.id_token or jwt.encode(stated, self.key, algorithm=self.algorithm, headers=headers)
        return {"access_token": "at-1", "token_type": "Bearer", "id_token": made}


def serve(provider: Provider) -> ThreadingHTTPServer:
    """Start the provider on a free port, and set its `url`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.asked.append(self.path)
            answers = {
                "/.well-known/openid-configuration": provider.metadata,
                "/keys": provider.keys,
                "/info": lambda: provider.info,
            }
            self._answer(answers[self.path]())

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self._answer(provider.token(form, self.headers.get("Authorization", "")))

        def _answer(self, value: Any) -> None:
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    return server

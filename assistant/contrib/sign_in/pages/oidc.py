"""Sign-in by OpenID Connect: django-allauth's provider, which here checks the ID token in full.

django-allauth leaves out the signature and the nonce, and believes the user info endpoint more than the token. Here the
token decides: signed by a key of the provider, made by the configured issuer for this client, and asked for in this
session (OpenID Connect Core 1.0, 3.1.3.7).
"""

from __future__ import annotations

import hashlib
from typing import Any

import jwt
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.crypto import constant_time_compare

# Asymmetric alone: a key of the provider's, which is public, must not serve as the secret of another algorithm.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
MAX_TOKEN, CLOCK_SKEW_SECONDS = 16_384, 60
# What is kept of what the provider says.
CLAIMS = ("sub", "email", "email_verified", "name", "preferred_username")


def provider_id() -> str:
    """Return the name of the provider in rows: another issuer is another provider, whose subjects are other people."""
    return f"oidc-{hashlib.sha256(settings.ASSISTANT_OIDC_ISSUER.encode()).hexdigest()[:16]}"


def nonce_of(verifier: str) -> str:
    """Return the nonce that belongs to a session's PKCE verifier, which nobody else knows."""
    return hashlib.sha256(f"nonce:{verifier}".encode()).hexdigest()


class OidcClient(OpenIDConnectOAuth2Adapter):
    """The protocol, from the request for a code to the claims."""

    _nonce = ""

    @property
    def openid_config(self) -> dict[str, Any]:
        """The provider's metadata. Raises `OAuth2Error` unless it is that of the configured issuer."""
        found = super().openid_config
        if not isinstance(found, dict) or str(found.get("issuer", "")).rstrip(
            "/"
        ) != settings.ASSISTANT_OIDC_ISSUER.rstrip("/"):
            raise OAuth2Error("the metadata are those of another issuer")
        return found

    def get_provider(self) -> OidcProvider:
        return OidcProvider(self.request, app=get_adapter().get_app(self.request, provider=provider_id()))

    def get_callback_url(self, request: HttpRequest, app: Any) -> str:
        return request.build_absolute_uri(reverse("openid_connect_callback"))

    def get_access_token_data(
        self, request: HttpRequest, app: Any, client: Any, pkce_code_verifier: str | None = None
    ) -> Any:
        if not pkce_code_verifier:
            raise OAuth2Error("this session has not asked for a sign-in")
        self._nonce = nonce_of(pkce_code_verifier)
        return super().get_access_token_data(request, app, client, pkce_code_verifier)

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **kwargs: Any) -> Any:
        """Return the login of the ID token's subject. Raises `OAuth2Error`."""
        claims = self._verified(kwargs["response"].get("id_token"), app)
        if "email" not in claims and "userinfo_endpoint" in self.openid_config:
            more = self._fetch_user_info(token.token)
            if not isinstance(more, dict) or more.get("sub") != claims["sub"]:
                raise OAuth2Error("the user info is about somebody else")
            claims = {**more, **claims}
        kept = {name: claims[name] for name in CLAIMS if isinstance(claims.get(name), str | bool)}
        return self.get_provider().sociallogin_from_response(request, kept)

    def _verified(self, token: Any, app: Any) -> dict[str, Any]:
        if not isinstance(token, str) or len(token) > MAX_TOKEN:
            raise OAuth2Error("there is no ID token")
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key=self._key_of(token),
                algorithms=ALGORITHMS,
                issuer=self.openid_config["issuer"],
                audience=app.client_id,
                leeway=CLOCK_SKEW_SECONDS,
                options={"require": ["iss", "sub", "aud", "exp", "iat", "nonce"]},
            )
        except (jwt.PyJWTError, KeyError, TypeError, ValueError) as exc:
            raise OAuth2Error("the ID token is not valid") from exc
        if not constant_time_compare(str(claims["nonce"]), self._nonce):
            raise OAuth2Error("the ID token was made for another sign-in")
        if claims.get("azp", app.client_id) != app.client_id:
            raise OAuth2Error("the ID token was made for another client")
        return claims

    def _key_of(self, token: str) -> jwt.PyJWK:
        with get_adapter().get_requests_session() as session:
            answer = session.get(self.openid_config["jwks_uri"])
            answer.raise_for_status()
            keys = jwt.PyJWKSet.from_dict(answer.json()).keys
        kid = jwt.get_unverified_header(token).get("kid")
        signing = [key for key in keys if key.public_key_use in (None, "sig")]
        # A provider with one key may leave its name out.
        found = [key for key in signing if key.key_id == kid] if kid is not None else signing
        if len(found) != 1:
            raise OAuth2Error("the key of the ID token is not the provider's")
        return found[0]


class OidcProvider(OpenIDConnectProvider):
    """The deployment's provider, as django-allauth's views know it."""

    oauth2_adapter_class = OidcClient

    def get_login_url(self, request: HttpRequest, **kwargs: Any) -> str:
        return reverse("openid_connect_login")

    def get_pkce_params(self) -> dict[str, Any]:
        """Return what is sent for PKCE, and with it the nonce."""
        found: dict[str, Any] = super().get_pkce_params()
        return {**found, "nonce": nonce_of(found["code_verifier"])}

    def get_scope_from_request(self, request: HttpRequest) -> list[str]:
        """Return the needed scopes, ignoring those in the address."""
        scope: list[str] = self.get_scope()
        return scope

    def get_auth_params_from_request(self, request: HttpRequest, action: Any) -> dict[str, Any]:
        params: dict[str, Any] = self.get_auth_params()
        return params

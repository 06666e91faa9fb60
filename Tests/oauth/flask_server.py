"""Authlib's authorization server in Flask, with rotation, behind nginx's auth_request.

Refresh tokens may expire, and a spent one is refused without ending the session. `run` drives it.
"""

import os
import secrets
import threading
import time

# Everything is on loopback.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

from authlib.integrations.flask_oauth2 import AuthorizationServer, ResourceProtector
from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin, grants
from authlib.oauth2.rfc6750 import BearerTokenValidator
from flask import Flask, request
from serving import serve

LIFETIME = int(os.environ["OAUTH_LIFETIME"])
app = Flask(__name__)
app.config.update(
    OAUTH2_REFRESH_TOKEN_GENERATOR=True,
    OAUTH2_TOKEN_EXPIRES_IN={"password": LIFETIME, "refresh_token": LIFETIME},
)


class State:
    """The data that a real server has in its database, with one lock for all of it."""

    lock = threading.Lock()
    tokens = ()
    passed = 0
    expire_at = None
    delay = 0.0


class Client(ClientMixin):
    id, secret = os.environ["OAUTH_CLIENT_ID"], os.environ["OAUTH_CLIENT_SECRET"]

    def get_client_id(self):
        return self.id

    def get_allowed_scope(self, scope):
        return scope

    def check_client_secret(self, client_secret):
        return secrets.compare_digest(client_secret.encode(), self.secret.encode())

    def check_endpoint_auth_method(self, method, endpoint):
        return method == "client_secret_basic"

    def check_grant_type(self, grant_type):
        return grant_type in ("password", "refresh_token")


class Token(TokenMixin):
    def __init__(self, fields):
        self.access, self.refresh, self.scope = fields["access_token"], fields["refresh_token"], fields["scope"]
        self.expires, self.revoked, self.refresh_expired = time.time() + fields["expires_in"], False, False

    def check_client(self, client):
        return True

    def get_scope(self):
        return self.scope

    def is_expired(self):
        return time.time() >= self.expires

    def is_revoked(self):
        return self.revoked


class Password(grants.ResourceOwnerPasswordCredentialsGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic",)

    def authenticate_user(self, username, password):
        return "operator" if (username, password) == ("operator", "operator") else None


class Refresh(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic",)
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token):
        return next((token for token in State.tokens
                     if token.refresh == refresh_token and not token.revoked and not token.refresh_expired), None)

    def authenticate_user(self, refresh_token):
        return "operator"

    def revoke_old_credential(self, refresh_token):
        refresh_token.revoked = True


class Validator(BearerTokenValidator):
    def authenticate_token(self, token_string):
        return next((token for token in State.tokens if token.access == token_string), None)


server = AuthorizationServer(
    app, query_client=lambda number: Client() if number == Client.id else None,
    save_token=lambda fields, _: setattr(State, "tokens", (*State.tokens, Token(fields))))
server.register_grant(Password)
server.register_grant(Refresh)
protector = ResourceProtector()
protector.register_token_validator(Validator())


@app.post("/o/token/")
def token():
    with State.lock:
        return server.create_token_response()


@app.get("/check")
def check():
    """The answer to nginx's auth_request for each page: 204 or 401, by Authlib's decision about the token."""
    time.sleep(State.delay)  # an upstream that takes its time is what is played
    with State.lock:
        if State.expire_at is not None and State.passed >= State.expire_at:
            State.expire_at = None
            for one in State.tokens:
                one.expires = 0
        with protector.acquire("read"):
            State.passed += 1
    return "", 204


@app.get("/control")
def control():
    """A request of the test script, which nginx does not forward."""
    with State.lock:
        after = request.args.get("expire_after", "")
        State.passed, State.expire_at = 0, int(after) if after else None
        State.delay = float(request.args.get("delay", "0"))
        if "end_session" in request.args:
            for one in State.tokens:
                one.refresh_expired, one.expires = True, 0
    return "", 204


@app.get("/counts")
def counts():
    with State.lock:
        return {"granted": len(State.tokens), "living": sum(not one.revoked for one in State.tokens)}


serve(app)

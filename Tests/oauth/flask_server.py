"""Authlib's authorization server in Flask, with rotation, behind nginx's auth_request.

Refresh tokens may expire, and a spent one is refused without ending the session. It also has the code flow and the
device flow. `run` drives it.
"""

import os
import secrets
import threading
import time

# Everything is on loopback.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

from authlib.integrations.flask_oauth2 import AuthorizationServer, ResourceProtector
from authlib.oauth2.rfc6749 import AuthorizationCodeMixin, ClientMixin, TokenMixin, grants
from authlib.oauth2.rfc6750 import BearerTokenValidator
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8628 import DeviceAuthorizationEndpoint, DeviceCodeGrant, DeviceCredentialDict
from flask import Flask, request
from serving import serve

LIFETIME = int(os.environ["OAUTH_LIFETIME"])
app = Flask(__name__)
app.config.update(
    OAUTH2_REFRESH_TOKEN_GENERATOR=True,
    OAUTH2_TOKEN_EXPIRES_IN={"password": LIFETIME, "refresh_token": LIFETIME, "authorization_code": LIFETIME},
)


class State:
    """The data that a real server has in its database, with one lock for all of it."""

    lock = threading.Lock()
    tokens = ()
    passed = 0
    expire_at = None
    delay = 0.0
    codes = ()
    devices = ()
    # Pairs of a user code and whether its user approved it.
    answers = ()
    # Seconds in which a device code expires, and how many polls are too fast.
    device_life, too_fast = 1800, 0
    polls = ()


class Client(ClientMixin):
    id, secret = os.environ["OAUTH_CLIENT_ID"], os.environ["OAUTH_CLIENT_SECRET"]
    method, grant_types = "client_secret_basic", ("password", "refresh_token")

    def get_client_id(self):
        return self.id

    def get_allowed_scope(self, scope):
        return scope

    def check_client_secret(self, client_secret):
        return secrets.compare_digest(client_secret.encode(), self.secret.encode())

    def check_endpoint_auth_method(self, method, endpoint):
        return method == self.method

    def check_grant_type(self, grant_type):
        return grant_type in self.grant_types


class Public(Client):
    """A program on a user's machine; any port of the loopback address is its own (RFC 8252 section 7.3)."""

    method = "none"
    grant_types = ("authorization_code", DeviceCodeGrant.GRANT_TYPE, "refresh_token")

    def __init__(self, number):
        self.id = number

    def check_response_type(self, response_type):
        return response_type == "code"

    def check_redirect_uri(self, redirect_uri):
        return redirect_uri.startswith("http://127.0.0.1:")


class Code(AuthorizationCodeMixin):
    def __init__(self, code, asked):
        self.code, self.client = code, asked.client.id
        self.redirect_uri, self.scope = asked.payload.redirect_uri, asked.payload.scope
        self.code_challenge = asked.payload.data.get("code_challenge")
        self.code_challenge_method = asked.payload.data.get("code_challenge_method")

    def get_redirect_uri(self):
        return self.redirect_uri

    def get_scope(self):
        return self.scope


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
    TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic", "none")
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token):
        return next((token for token in State.tokens
                     if token.refresh == refresh_token and not token.revoked and not token.refresh_expired), None)

    def authenticate_user(self, refresh_token):
        return "operator"

    def revoke_old_credential(self, refresh_token):
        refresh_token.revoked = True


class AuthorizationCode(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ("none",)

    def save_authorization_code(self, code, request):
        State.codes = (*State.codes, Code(code, request))

    def query_authorization_code(self, code, client):
        return next((one for one in State.codes if (one.code, one.client) == (code, client.id)), None)

    def delete_authorization_code(self, authorization_code):
        State.codes = tuple(one for one in State.codes if one is not authorization_code)

    def authenticate_user(self, authorization_code):
        return "operator"


class DeviceEndpoint(DeviceAuthorizationEndpoint):
    INTERVAL = 1

    def get_verification_uri(self):
        return "http://127.0.0.1/o/device"

    def save_device_credential(self, client_id, scope, data):
        more = {"client_id": client_id, "scope": scope, "expires_at": time.time() + State.device_life}
        State.devices = (*State.devices, DeviceCredentialDict(data | more))


class Device(DeviceCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ("none",)

    def query_device_credential(self, device_code):
        State.polls = (*State.polls, time.time())
        return next((one for one in State.devices if one["device_code"] == device_code), None)

    def query_user_grant(self, user_code):
        return next((("operator", approved) for code, approved in State.answers if code == user_code), None)

    def should_slow_down(self, credential):
        State.too_fast -= 1
        return State.too_fast >= 0


class Validator(BearerTokenValidator):
    def authenticate_token(self, token_string):
        return next((token for token in State.tokens if token.access == token_string), None)


PUBLIC = {number: Public(number) for number in ["code", "device"]}
server = AuthorizationServer(
    app, query_client=lambda number: Client() if number == Client.id else PUBLIC.get(number),
    save_token=lambda fields, _: setattr(State, "tokens", (*State.tokens, Token(fields))))
server.register_grant(Password)
server.register_grant(Refresh)
server.register_grant(AuthorizationCode, [CodeChallenge(required=True)])
server.register_grant(Device)
server.register_endpoint(DeviceEndpoint)
protector = ResourceProtector()
protector.register_token_validator(Validator())


@app.post("/o/token/")
def token():
    with State.lock:
        return server.create_token_response()


@app.get("/o/authorize/")
def authorize():
    """The operator is logged in and agrees."""
    with State.lock:
        grant = server.get_consent_grant(end_user="operator")
        return server.create_authorization_response(grant_user="operator", grant=grant)


@app.post("/o/device-authorization/")
def device_authorization():
    with State.lock:
        return server.create_endpoint_response(DeviceEndpoint.ENDPOINT_NAME)


@app.get("/check")
def check():
    """The answer to nginx's auth_request for each page: 204 or 401, by Authlib's decision about the token."""
    time.sleep(State.delay)  # simulates a slow upstream
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
        if "approve" in request.args:
            State.answers = (*State.answers, (request.args["approve"], request.args.get("status") != "denied"))
            return "", 204
        if "forget" in request.args:
            State.tokens = State.codes = State.devices = State.answers = State.polls = ()
        State.device_life = int(request.args.get("device_life", "1800"))
        State.too_fast = int(request.args.get("too_fast", "0"))
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
        return {"granted": len(State.tokens), "living": sum(not one.revoked for one in State.tokens),
                "polls": State.polls}


serve(app)

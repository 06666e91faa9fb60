"""A token server for assertions. PyJWT verifies those of /app and /pages, as the documentation of GitHub, Google and
Snowflake describes it. Authlib verifies those of /o/token: RFC 7523, section 2.1, and private_key_jwt. Pages need a
token of one of them. `assertions` drives it, and posts its settings to /control."""

import os
import threading
import time
from email.utils import formatdate

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

import jwt
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, grants
from authlib.oauth2.rfc7523 import JWTBearerClientAssertion, JWTBearerGrant
from flask import Flask, jsonify, request
from joserfc.jwk import RSAKey
from serving import serve
from simulator import character_page

GOOGLE = "urn:ietf:params:oauth:grant-type:jwt-bearer"
AUDIENCE = os.environ["ASSERTION_AUDIENCE"]
app = Flask(__name__)


class State:
    """The values that `assertions` sets, and those that it reads."""

    lock = threading.Lock()
    # Public keys in PEM.
    keys = ()
    algorithm, audience, issuer = "RS256", None, "7"
    # Seconds by which this server's clock is ahead, pages of a token, seconds of a token's life.
    ahead, uses, life = 0, 1_000_000, 3600
    suspended, busy = False, 0
    tokens, identifiers, assertions, requests, pages = None, None, None, 0, 0


def now():
    return time.time() + State.ahead


@app.after_request
def dated(response):
    response.headers["Date"] = formatdate(now(), usegmt=True)
    return response


@app.post("/control")
def control():
    with State.lock:
        for name, value in request.json.items():
            setattr(State, name, value)
    return jsonify({})


@app.get("/seen")
def seen():
    with State.lock:
        return jsonify(
            requests=State.requests, pages=State.pages, assertions=State.assertions, granted=len(State.tokens))


def refusal(text, longest):
    """The sentence of the refusal; None if the assertion is good."""
    with State.lock:
        State.assertions.append(text)
    for key in State.keys:
        try:
            found = jwt.decode(text, key, algorithms=[State.algorithm], options={
                "verify_exp": False, "verify_iat": False, "verify_aud": False, "verify_nbf": False})
            break
        except jwt.InvalidSignatureError:
            continue
        except jwt.InvalidTokenError as error:
            return f"Invalid JWT: {error}"
    else:
        return "A JSON web token could not be decoded"
    if not isinstance(found.get("iat"), int) or found["iat"] > now():
        return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
    if not isinstance(found.get("exp"), int) or found["exp"] <= now():
        return "'Expiration time' claim ('exp') must be a numeric value representing the future time"
    if found["exp"] > now() + longest:
        return "'Expiration time' claim ('exp') is too far in the future"
    if State.audience and found.get("aud") != State.audience:
        return f"Invalid JWT: Failed audience check: {found.get('aud')}"
    if found["iss"] != State.issuer:
        return "Integration must generate a public key"
    if found.get("jti") in State.identifiers:
        return "this jti was used before"
    with State.lock:
        State.identifiers += [found["jti"]] if "jti" in found else []
    return None


def token():
    with State.lock:
        name = f"granted-{len(State.tokens)}-{os.urandom(12).hex()}"
        State.tokens[name] = [now() + State.life, State.uses]
    return name


def fails():
    """The next requests that fail for a passing reason."""
    with State.lock:
        State.requests += 1
        if State.busy > 0:
            State.busy -= 1
            return True
    return False


@app.post("/app/installations/7/access_tokens")
def github():
    if fails():
        return jsonify(message="Server Error"), 502
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    said = refusal(text, 600) if scheme == "Bearer" else "Requires authentication"
    if said:
        return jsonify(message=said, documentation_url="https://docs.github.com/rest"), 401
    if State.suspended:
        return jsonify(message="This installation has been suspended"), 403
    expires = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now() + State.life))
    return jsonify(token=token(), expires_at=expires, permissions={}), 201


@app.post("/token")
def google():
    if fails():
        return jsonify(error="internal_failure"), 500
    if request.form.get("grant_type") != GOOGLE:
        return jsonify(error="unsupported_grant_type"), 400
    said = refusal(request.form["assertion"], 3600)
    if said:
        said = "Invalid JWT Signature." if "decoded" in said else said
        return jsonify(error="invalid_grant", error_description=said), 400
    return jsonify(access_token=token(), expires_in=State.life, token_type="Bearer")


@app.get("/api/character")
def page():
    number = int(request.args.get("page", 1))
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
    with State.lock:
        found = State.tokens.get(bearer)
        good = found and found[0] > now() and found[1] > 0
        if good:
            found[1] -= 1
            State.pages += 1
    if not good:
        return jsonify(error="unauthorized"), 401
    return jsonify(character_page(number, 200))


@app.get("/signed/character")
def signed_page():
    """As Snowflake: the assertion itself is the token."""
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
    with State.lock:
        State.identifiers = []
    said = refusal(bearer, 3600)
    if said:
        return jsonify(code="390144", message=f"JWT token is invalid. {said}"), 401
    return jsonify(character_page(int(request.args.get("page", 1)), 200))


class Client(ClientMixin):
    id = "service"

    def get_client_id(self):
        return self.id

    def get_allowed_scope(self, scope):
        return scope or ""

    def check_client_secret(self, _):
        return False

    def check_endpoint_auth_method(self, method, endpoint):
        return method == Assertion.CLIENT_AUTH_METHOD

    def check_grant_type(self, grant_type):
        return True


class Assertion(JWTBearerClientAssertion):
    def validate_jti(self, claims, jti):
        known = jti in State.identifiers
        State.identifiers.append(jti)
        return not known

    def get_audiences(self):
        return [AUDIENCE]

    def resolve_client_public_key(self, client):
        return RSAKey.import_key(State.keys[0])


class User:
    def get_user_id(self):
        return "service"


class Bearer(JWTBearerGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ("none",)

    def resolve_issuer_client(self, issuer):
        return Client()

    def get_audiences(self):
        return [AUDIENCE]

    def resolve_client_public_key(self, client):
        return RSAKey.import_key(State.keys[0])

    def authenticate_user(self, subject):
        return User()

    def has_granted_permission(self, client, user):
        return True


def save(granted, request):
    with State.lock:
        State.tokens[granted["access_token"]] = [now() + State.life, State.uses]


server = AuthorizationServer(app, query_client=lambda client_id: Client(), save_token=save)
server.register_grant(Bearer)


class ClientCredentials(grants.ClientCredentialsGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic", Assertion.CLIENT_AUTH_METHOD)


server.register_grant(ClientCredentials)


@app.post("/o/token")
def authlib():
    if fails():
        return jsonify(error="server_error"), 500
    with State.lock:
        State.assertions.append(request.form.get("client_assertion") or request.form.get("assertion"))
    return server.create_token_response()


def main():
    State.tokens, State.identifiers, State.assertions = {}, [], []
    server.register_client_auth_method(Assertion.CLIENT_AUTH_METHOD, Assertion(validate_jti=True))
    serve(app)


main()

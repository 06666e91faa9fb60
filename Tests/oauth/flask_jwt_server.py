"""Flask-JWT-Extended as its documentation has it: a login, a refresh by bearer token, a blocklist. Driven by `run`."""

import os
import threading
from datetime import timedelta

from flask import Flask, jsonify, request
from flask_jwt_extended import (
    JWTManager, create_access_token, create_refresh_token, get_jwt, get_jwt_identity, jwt_required)
from serving import serve

app = Flask(__name__)
app.config.update(
    JWT_SECRET_KEY="only for this test, and long enough for HMAC",
    JWT_ACCESS_TOKEN_EXPIRES=timedelta(seconds=int(os.environ["OAUTH_LIFETIME"])))
manager = JWTManager(app)


class Checks:
    lock = threading.Lock()
    passed = 0
    expire_at = None
    seen, refused = set(), set()
    logins = refreshes = 0


@manager.token_in_blocklist_loader
def is_refused(_, claims):
    return claims["jti"] in Checks.refused


@app.post("/api/token/")
def login():
    Checks.logins += 1
    given = request.json
    if (given.get("username"), given.get("password")) != ("operator", os.environ["OAUTH_CLIENT_SECRET"]):
        return jsonify(msg="Bad username or password"), 401
    return jsonify(
        access_token=create_access_token(identity="operator"), refresh_token=create_refresh_token(identity="operator"))


@app.post("/api/token/refresh/")
@jwt_required(refresh=True)
def refresh():
    Checks.refreshes += 1
    with Checks.lock:
        Checks.seen.add(get_jwt()["jti"] + " refresh")
    return jsonify(access_token=create_access_token(identity=get_jwt_identity()))


@app.get("/check")
@jwt_required()
def check():
    """The answer to nginx's auth_request for each page: 204, or 401, as the library judges the token."""
    with Checks.lock:
        if Checks.expire_at is not None and Checks.passed >= Checks.expire_at:
            Checks.expire_at = None
            Checks.refused |= {jti for jti in Checks.seen if not jti.endswith(" refresh")}
        Checks.seen.add(get_jwt()["jti"])
        if get_jwt()["jti"] in Checks.refused:
            return "", 401
        Checks.passed += 1
    return "", 204


@app.get("/control")
def control():
    with Checks.lock:
        if "forget" in request.args:
            Checks.seen, Checks.refused, Checks.logins, Checks.refreshes = set(), set(), 0, 0
        after = request.args.get("expire_after", "")
        Checks.passed, Checks.expire_at = 0, int(after) if after else None
        if "end_session" in request.args:
            Checks.refused |= {jti.removesuffix(" refresh") for jti in Checks.seen}
    return "", 204


@app.get("/counts")
def counts():
    return {"logins": Checks.logins, "refreshes": Checks.refreshes}


serve(app)

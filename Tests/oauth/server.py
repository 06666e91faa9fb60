"""django-oauth-toolkit with its defaults, with rotation and reuse protection, behind nginx's auth_request.

This file contains the settings and the two views that nginx uses. `run` drives it.
"""

import os
import threading
import time
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import include, path
from serving import serve

FOLDER = Path(os.environ["OAUTH_FOLDER"])

settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": FOLDER / "oauth.db",
            # Eight parallel checks write nothing; the refresh and the script write.
            "OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE"},
        }
    },
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "oauth2_provider"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    # The resource owner's password is the script's own: no need for a slow hash.
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    OAUTH2_PROVIDER={
        "ROTATE_REFRESH_TOKEN": True,
        "REFRESH_TOKEN_REUSE_PROTECTION": True,
        "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": int(os.environ.get("OAUTH_GRACE", 0)),
        "ACCESS_TOKEN_EXPIRE_SECONDS": int(os.environ["OAUTH_LIFETIME"]),
        "SCOPES": {"read": "the roster"},
        "PKCE_REQUIRED": False,
        "OAUTH_DEVICE_VERIFICATION_URI": "http://127.0.0.1/o/device",
        "ALLOWED_REDIRECT_URI_SCHEMES": ["http"],
    },
    # Every page is opened by the operator: the script cannot fill in a form.
    MIDDLEWARE=[f"{__name__}.as_operator"],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
    ROOT_URLCONF=__name__,
    SECRET_KEY="only for this test",
    USE_TZ=True,
)
django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.utils import timezone  # noqa: E402
from oauth2_provider.models import (  # noqa: E402
    get_access_token_model, get_application_model, get_device_grant_model, get_grant_model, get_refresh_token_model)
from oauth2_provider.oauth2_backends import get_oauthlib_core  # noqa: E402


class Checks:
    """The number of accepted page requests, and the number after which all access tokens expire."""

    lock = threading.Lock()
    passed = 0
    expire_at = None
    delay = 0.0


def check(request):
    """The answer to nginx's auth_request for each page: 204 or 401, by the toolkit's decision about the token."""
    time.sleep(Checks.delay)  # an upstream that takes its time is what is played
    with Checks.lock:
        if Checks.expire_at is not None and Checks.passed >= Checks.expire_at:
            Checks.expire_at = None
            get_access_token_model().objects.update(expires=timezone.now() - timezone.timedelta(seconds=1))
        valid, _ = get_oauthlib_core().verify_request(request, scopes=["read"])
        if not valid:
            return HttpResponse(status=401, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})
        Checks.passed += 1
        return HttpResponse(status=204)


def as_operator(next_step):
    def answer(request):
        request.user = get_user_model().objects.filter(username="operator").first()
        return next_step(request)
    return answer


def control(request):
    """A request of the test script, which nginx does not forward."""
    if "approve" in request.GET:
        devices = get_device_grant_model().objects.filter(user_code=request.GET["approve"])
        devices.update(status=request.GET.get("status", "authorized"), user=get_user_model().objects.get())
        return HttpResponse(status=204)
    if "forget" in request.GET:
        for model in [get_access_token_model(), get_refresh_token_model(), get_grant_model(), get_device_grant_model()]:
            model.objects.all().delete()
    with Checks.lock:
        Checks.passed = 0
        after = request.GET.get("expire_after", "")
        Checks.expire_at = int(after) if after else None
        Checks.delay = float(request.GET.get("delay", "0"))
    return HttpResponse(status=204)


urlpatterns = [
    path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
    path("check", check),
    path("control", control),
]


def main():
    call_command("migrate", verbosity=0)
    user = get_user_model().objects.create_user("operator", password="operator")
    application = get_application_model()
    application.objects.create(
        name="rosterd",
        user=user,
        client_id=os.environ["OAUTH_CLIENT_ID"],
        client_secret=os.environ["OAUTH_CLIENT_SECRET"],
        client_type=application.CLIENT_CONFIDENTIAL,
        authorization_grant_type=application.GRANT_PASSWORD,
    )
    # Public clients of `rosterd login`.
    application.objects.create(
        name="code", user=user, client_id="code", client_type=application.CLIENT_PUBLIC, skip_authorization=True,
        redirect_uris="http://127.0.0.1/", authorization_grant_type=application.GRANT_AUTHORIZATION_CODE)
    application.objects.create(
        name="device", user=user, client_id="device", client_type=application.CLIENT_PUBLIC,
        authorization_grant_type=application.GRANT_DEVICE_CODE)
    serve(get_wsgi_application())


main()

"""Django REST framework with djangorestframework-simplejwt as it comes, with rotation and a blacklist.

Driven by `run`.
"""

import os
import threading
from datetime import timedelta
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, JsonResponse
from django.urls import path
from serving import serve

FOLDER = Path(os.environ["OAUTH_FOLDER"])

settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": FOLDER / "oauth.db",
            "OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE"},
        }
    },
    INSTALLED_APPS=[
        "django.contrib.auth", "django.contrib.contenttypes", "rest_framework",
        "rest_framework_simplejwt.token_blacklist",
    ],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    SIMPLE_JWT={
        "ACCESS_TOKEN_LIFETIME": timedelta(seconds=int(os.environ["OAUTH_LIFETIME"])),
        "ROTATE_REFRESH_TOKENS": True,
        "BLACKLIST_AFTER_ROTATION": True,
    },
    ROOT_URLCONF=__name__,
    SECRET_KEY="only for this test, and long enough for HMAC",
    USE_TZ=True,
)
django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from rest_framework_simplejwt.exceptions import TokenError  # noqa: E402
from rest_framework_simplejwt.token_blacklist.models import BlacklistedToken, OutstandingToken  # noqa: E402
from rest_framework_simplejwt.tokens import AccessToken  # noqa: E402
from rest_framework_simplejwt.views import TokenObtainPairView, TokenRefreshView  # noqa: E402


class Checks:
    lock = threading.Lock()
    passed = 0
    expire_at = None
    seen, refused = set(), set()
    logins = refreshes = 0


def check(request):
    """The answer to nginx's auth_request for each page: 204 or 401, as simplejwt judges the token."""
    with Checks.lock:
        try:
            token = AccessToken(request.headers.get("Authorization", "").removeprefix("Bearer "))
        except TokenError:
            return HttpResponse(status=401)
        if Checks.expire_at is not None and Checks.passed >= Checks.expire_at:
            Checks.expire_at = None
            Checks.refused |= Checks.seen
        Checks.seen.add(token["jti"])
        if token["jti"] in Checks.refused:
            return HttpResponse(status=401)
        Checks.passed += 1
        return HttpResponse(status=204)


def control(request):
    with Checks.lock:
        if "forget" in request.GET:
            Checks.seen, Checks.refused, Checks.logins, Checks.refreshes = set(), set(), 0, 0
        after = request.GET.get("expire_after", "")
        Checks.passed, Checks.expire_at = 0, int(after) if after else None
        if "end_session" in request.GET:
            Checks.refused |= Checks.seen
            for token in OutstandingToken.objects.all():
                BlacklistedToken.objects.get_or_create(token=token)
    return HttpResponse(status=204)


def counted(name, view):
    def answer(request):
        with Checks.lock:
            setattr(Checks, name, getattr(Checks, name) + 1)
        return view(request)
    answer.csrf_exempt = True
    return answer


urlpatterns = [
    path("api/token/", counted("logins", TokenObtainPairView.as_view())),
    path("api/token/refresh/", counted("refreshes", TokenRefreshView.as_view())),
    path("check", check),
    path("control", control),
    path("counts", lambda _: JsonResponse({"logins": Checks.logins, "refreshes": Checks.refreshes})),
]


def main():
    call_command("migrate", verbosity=0)
    get_user_model().objects.create_user("operator", password=os.environ["OAUTH_CLIENT_SECRET"])
    serve(get_wsgi_application())


main()

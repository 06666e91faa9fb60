"""Django REST framework as in its tutorial: a model, a serializer, one view for each page style.

django_server.py FOLDER COUNT      serves FOLDER/entries.db, which gets COUNT entries
"""

import sys
from datetime import timedelta
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command
from serving import serve

FOLDER, COUNT = Path(sys.argv[1]), int(sys.argv[2])
PAGE_SIZE = 20

settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    DATABASES={"default": {
        "ENGINE": "django.db.backends.sqlite3", "NAME": FOLDER / "entries.db", "OPTIONS": {"timeout": 20}}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=["rest_framework"],
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
    REST_FRAMEWORK={
        "PAGE_SIZE": PAGE_SIZE, "UNAUTHENTICATED_USER": None, "DEFAULT_AUTHENTICATION_CLASSES": [],
        "DEFAULT_PERMISSION_CLASSES": [], "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"]},
    ROOT_URLCONF=__name__,
    SECRET_KEY="only for this test",
    USE_TZ=True,
)
django.setup()

from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.db import connection, models  # noqa: E402
from django.urls import include, path  # noqa: E402
from django.utils import timezone  # noqa: E402
from django.utils.decorators import method_decorator  # noqa: E402
from django.views.decorators.http import condition, conditional_page  # noqa: E402
from rest_framework import pagination, response, routers, serializers, viewsets  # noqa: E402


class Entry(models.Model):
    title = models.CharField(max_length=100)
    score = models.FloatField(null=True)
    published = models.DateTimeField()

    class Meta:
        app_label = "blog"
        db_table = "entry"
        ordering = ("-published", "-id")


class EntrySerializer(serializers.ModelSerializer):
    class Meta:
        model = Entry
        fields = ("id", "title", "score", "published")


class NewestFirst(pagination.CursorPagination):
    ordering = ("-published", "-id")


class ContentRange(pagination.LimitOffsetPagination):
    """Answers like PostgREST: a bare list, 206, and the total in Content-Range."""

    def get_paginated_response(self, data):
        end = self.offset + max(len(data) - 1, 0)
        return response.Response(
            data, status=200 if len(data) == self.count else 206,
            headers={"Content-Range": f"{self.offset}-{end}/{self.count}"})


def latest_entry(request, **_):
    """The Last-Modified that the documentation of `condition` proposes; a deletion does not change it."""
    return Entry.objects.latest("published").published


def entries(paging, validator=conditional_page):
    @method_decorator(validator, name="list")
    class EntryViewSet(viewsets.ReadOnlyModelViewSet):
        queryset = Entry.objects.all()
        serializer_class = EntrySerializer
        pagination_class = paging

    return EntryViewSet


router = routers.DefaultRouter()
router.register("number", entries(pagination.PageNumberPagination), "number")
router.register("offset", entries(pagination.LimitOffsetPagination), "offset")
router.register("cursor", entries(NewestFirst), "cursor")
router.register("range", entries(ContentRange), "range")
latest = condition(last_modified_func=latest_entry)
router.register("latest", entries(pagination.PageNumberPagination, latest), "latest")
urlpatterns = [path("api/", include(router.urls))]


def main():
    call_command("migrate", verbosity=0)
    with connection.schema_editor() as schema:
        schema.create_model(Entry)
    # Older than any answer, so that Last-Modified counts.
    start = timezone.now() - timedelta(days=30)
    Entry.objects.bulk_create(
        Entry(title=f"Entry {number}", score=number / 4, published=start + timedelta(minutes=number))
        for number in range(1, COUNT + 1))
    serve(get_wsgi_application(), FOLDER / "requests.log")


main()

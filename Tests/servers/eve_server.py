"""Eve as in its quickstart. mongomock replaces MongoDB, which Debian does not have.

eve_server.py FOLDER COUNT      its collection has COUNT entries
"""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

import mongomock
from serving import serve

with mock.patch("pymongo.MongoClient", mongomock.MongoClient):
    from eve import Eve

FOLDER, COUNT = Path(sys.argv[1]), int(sys.argv[2])
SETTINGS = {
    "MONGO_DBNAME": "blog",
    "PAGINATION_DEFAULT": 20,
    "PAGINATION_LIMIT": 1000,
    "RESOURCE_METHODS": ["GET", "POST"],
    "ITEM_METHODS": ["GET", "PATCH", "DELETE"],
    "URL_PREFIX": "api",
    "DOMAIN": {"entries": {
        "schema": {
            "number": {"type": "integer"}, "title": {"type": "string"}, "score": {"type": "float"},
            "tags": {"type": "list", "schema": {"type": "string"}}},
        "datasource": {"default_sort": [("number", -1)]},
    }},
}


def main():
    app = Eve(settings=SETTINGS)
    # Older than any answer, so that Last-Modified counts.
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(days=30)
    with app.app_context():
        app.data.driver.db["entries"].insert_many(
            {"number": number, "title": f"Entry {number}", "score": number / 4, "tags": [f"tag {number % 7}"],
             "_created": start, "_updated": start + timedelta(minutes=number)}
            for number in range(1, COUNT + 1))
    serve(app, FOLDER / "requests.log")


main()

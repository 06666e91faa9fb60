"""Kinto with its memory backends. The tests fill it through its own API.

kinto_server.py FOLDER
"""

import sys
from pathlib import Path

from kinto import main
from serving import serve

FOLDER = Path(sys.argv[1])
SETTINGS = {
    "bucket_create_principals": "system.Authenticated",
    "multiauth.policies": "basicauth",
    "userid_hmac_secret": "only for this test",
    "storage_backend": "kinto.core.storage.memory",
    "cache_backend": "kinto.core.cache.memory",
    "permission_backend": "kinto.core.permission.memory",
}
serve(main({}, **SETTINGS), FOLDER / "requests.log")

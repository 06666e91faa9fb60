"""An upstream whose every record contains the version, so that a mixture of two versions is visible.

It is rosterd's proxy, so that base_url, to which caches and tokens belong, is the same for all.
"""

import json
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import simulator

BASE = "http://roster.test/api"
RECORDS = 60
# All values except the key contain the version.
RECORD = """{
"id": <n>, "name": "Pilot <n>·v<v>", "status": "status <n>·v<v>", "species": "species <n>·v<v>",
"type": "type <n>·v<v>", "gender": "gender <n>·v<v>", "image": "image <n>·v<v>", "url": "url <n>·v<v>",
"created": "created <n>·v<v>", "origin": {"name": "Earth·v<v>", "url": "o/<n>·v<v>"},
"location": {"name": "Earth·v<v>", "url": "o/<n>·v<v>"}, "episode": ["e/<n>·v<v>", "e/<n+1>·v<v>"], "moons": <v>}"""


def content(version, records, columns):
    """The rows of the two tables with these columns."""
    listed = [simulator.record(RECORD, number, version) for number in range(version, version + records)]

    def row(document):
        fields = dict(document)
        fields.pop("episode")
        found = {}
        for column in columns[:-1]:
            name, _, inner = column.partition("_")
            found[column] = fields[name][inner] if inner else fields[name]
        taken = {column.partition("_")[0] for column in columns}
        extra = {name: value for name, value in fields.items() if name not in taken}
        return *found.values(), json.dumps(extra, ensure_ascii=False, separators=(",", ":"), sort_keys=True)

    episodes = [(each["id"], at, url) for each in listed for at, url in enumerate(each["episode"])]
    return tuple(columns), tuple(map(row, listed)), tuple(episodes)


class Versions(simulator.Simulator):
    """Serves one version at a time. The next version removes the first record and adds another one."""

    def __init__(self, program, records=RECORDS):
        super().__init__(program)
        # Without a Date, rosterd uses its own clock, which a test shifts.
        self.change(isDated=False)
        self.list(record=RECORD, shifts=True)
        self.use_tokens(isRequired=False)
        self.serve(1, records)

    def serve(self, version, records):
        self.records = records
        self.list(version=version, ids=list(range(records)))

    @property
    def version(self):
        return self.state()["versions"]["/api/character"]

    @version.setter
    def version(self, version):
        self.list(version=version)

    def content(self, columns):
        """The rows of the current version."""
        return content(self.version, self.records, columns)

    def use_tokens(self, **state):
        """TokenEndpoint.swift says what the state means."""
        self.change(tokens=simulator.TOKENS | state)

    @property
    def reuses(self):
        return self.state()["tokens"]["reuses"]

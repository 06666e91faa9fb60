"""The recorded scenarios, and the states that a reader may see after a power cut."""

import copy
import os
import random
import re
import shutil
import signal
import sqlite3
import time
from pathlib import Path

import disk
import sites
import versions

FIRST_VERSION = Path(__file__).resolve().parents[1] / "RosterCacheTests/Fixtures/later"
# A definition without some columns that the built-in one has.
OTHER = """
[resource.character]
path = "/character"
records = "/results"
table = "characters"
search = ["name", "species"]
by_key = "/character/{keys}"
[resource.character.pages]
last = "/info/pages"
count = "/info/count"
[resource.character.columns]
id = { at = "/id", type = "integer" }
name = "/name"
status = "/status"
url = "/url"
species = "/species"
[resource.character.lists.character_episodes]
at = "/episode"
columns = { url = "" }
"""


def put(state, folder):
    """Writes a state into the folder, with the inode numbers that rosterd expects."""
    numbers = []
    for name, (content, inode) in sorted(state.items()):
        path = Path(folder) / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
            continue
        # The index of the log is never flushed: whatever it contains, it is rebuilt.
        path.write_bytes(content if not name.endswith("-shm") else b"\xff" * 32768)
        os.chmod(path, 0o640 if "roster.db" in name else 0o600)
        numbers.append(f"{path.stat().st_ino} {inode}\n")
    identities = Path(f"{folder}.identities")
    identities.write_text("".join(numbers))
    return identities


class Scenario:
    """A first sync."""

    version = 1
    records = versions.RECORDS
    tokens = False
    base = versions.BASE
    definition = ""

    def __init__(self, program, folder, libraries):
        self.program, self.folder, self.libraries = program, Path(folder) / type(self).__name__.lower(), libraries
        self.folder.mkdir()
        self.identities = {}

    def site(self, folder, proxy):
        site = sites.Site(self.program, folder, proxy, self.base)
        # A version may remove more records than the guard allows by default.
        site.settings |= {"LD_PRELOAD": str(self.libraries["identity"]), "ROSTERD_SYNC_MAX_REMOVAL": "100"}
        if self.definition:
            site.use_definition(self.definition)
        if self.tokens:
            site.use_tokens()
        return site

    def prepare(self, site, server):
        """The state before rosterd has ever run."""

    def act(self, site, server, settings):
        """Runs the recorded part; returns the views that readers may have during it."""
        server.version = self.version
        site.sync(**settings)
        return []

    def record(self):
        folder = self.folder / "recorded"
        with versions.Versions(self.program, self.records) as server:
            site = self.site(folder, server.origin)
            self.prepare(site, server)
            before = sites.View(site.cache) if site.cache.exists() else None
            start = self.started(site)
            self.disk = disk.Disk(folder, self.identities)
            log = self.folder / "calls"
            preload = f"{self.libraries['recorder']}:{self.libraries['identity']}"
            meanwhile = self.act(
                site, server, {"LD_PRELOAD": preload, "ROSTER_RECORD": str(log), "ROSTER_RECORD_UNDER": str(folder)}
            )
        self.calls = disk.calls(log)
        self.after = sites.View(site.cache)
        self.prove(folder)
        self.before, self.start = before, start
        self.views = [view for view in (before, start, *meanwhile, self.after) if view]
        columns = self.after.columns
        self.targets = {v: versions.content(v, self.records, columns) for v in (self.version, self.version + 1)}
        if self.after.content != self.targets[self.version]:
            raise sites.Fault("the cache is not what upstream has")

    def prove(self, folder):
        """Proves that no call was missed: the replayed calls result in the current folder."""
        model = copy.deepcopy(self.disk)
        for call in self.calls:
            model.do(call)
        replayed = {name: content for name, (content, _) in model.state(lambda _: None, lambda file: file.all).items()}
        found = {
            str(path.relative_to(folder)) + "/" * path.is_dir(): b"" if path.is_dir() else path.read_bytes()
            for path in folder.rglob("*")
        }
        for name in replayed.keys() | found.keys():
            if not name.endswith("-shm") and replayed.get(name) != found.get(name):
                raise sites.Fault(f"the recorder missed what became of {name}")

    def started(self, site):
        """The view of a reader after rosterd was started and has pulled nothing."""
        shutil.copytree(site.folder, self.folder / "started")
        self.site(self.folder / "started", "http://127.0.0.1:9").run("sync", ROSTERD_RETRY_MAX_RETRIES="0")
        return sites.View(self.folder / "started/state/roster.db")

    def states(self, seed):
        """Each state as a function that makes it, with the snapshot that was announced before. Then the numbers of the
        last access token that was granted, and of the last one that was used."""
        model, dice = copy.deepcopy(self.disk), random.Random(seed)
        told, granted, used = 0, 0, 0
        for index, call in enumerate(self.calls):
            changed = model.do(call)
            if call.kind == "R" and call.second.endswith(b".published"):
                file = model.at(call.second.decode())
                told = int(file.content(file.all).split()[0])
            if call.kind == "N":
                granted += bool(re.match(rb"POST \S+/token ", call.first))
                used = max([used] + [int(number) for number in re.findall(rb"Bearer A(\d+)", call.first)])
            for make in model.states(changed, dice):
                yield index, make, told, granted, used

    def check(self, folder, server, state, told, granted, used, version):
        """The state is on the disk; each error found is one of rosterd or of a reader."""
        site = self.site(folder, server.origin)
        site.settings["ROSTER_IDENTITIES"] = str(put(state, folder))
        server.serve(version, self.records)
        server.use_tokens(isRequired=self.tokens, granted=granted, used=used, expired=used)
        found = self.look(folder, told)
        said = site.sync()
        if server.reuses:
            raise sites.Fault("a refresh token is sent whose successor was used")
        view = sites.View(site.cache)
        if view.content != self.targets[version]:
            raise sites.Fault(f"after the next sync the cache is not what upstream has: {said}")
        if view.running:
            raise sites.Fault("a sync runs for ever")
        names = [file.name for file in (folder / "state").iterdir()]
        left = [name for name in names if any(part in name for part in (".damaged-", ".new", ".successor"))]
        if left:
            raise sites.Fault(f"{left} are left")
        for earlier in (self.before, found):
            if earlier:
                earlier.follow(view)

    def look(self, folder, told):
        """A reader opens the cache before rosterd does. It gets a copy, because it may write the log back."""
        path = folder / "state/roster.db"
        if not path.exists():
            if self.before or told:
                raise sites.Fault("the cache is gone")
            return None
        with sites.workspace("rosterd-reader-") as copied:
            for part in ("", "-wal"):
                if Path(f"{path}{part}").exists():
                    shutil.copy(f"{path}{part}", copied)
            view = sites.View(Path(copied) / "roster.db")
        allowed = [each for each in self.views if (each.snapshot or 0) >= told]
        if not any(view.content == each.content and view.snapshot == each.snapshot for each in allowed):
            raise sites.Fault(f"a reader sees neither the old snapshot nor the new one: {view.snapshot}, told {told}")
        return view


class First(Scenario):
    __doc__ = Scenario.__doc__


class Changing(Scenario):
    """All records change, one is removed, one is added."""

    version = 2

    def prepare(self, site, server):
        site.sync()


class Rotation(Changing):
    """The first session, whose access token expires during the sync and is refreshed once."""

    tokens = True

    def prepare(self, site, server):
        plain = sites.Site(self.program, site.folder, server.origin, self.base)
        plain.settings["LD_PRELOAD"] = str(self.libraries["identity"])
        plain.sync()

    def act(self, site, server, settings):
        server.use_tokens(lifetime=2, lasting=2)
        super().act(site, server, settings)
        granted = server.state()["tokens"]["granted"]
        if granted != 2:
            raise sites.Fault(f"{granted} tokens were granted")
        return []


class Older(Changing):
    """A cache of version 0.1, which a new one replaces with the first publication."""

    records = 9

    def prepare(self, site, server):
        (site.folder / "state").mkdir()
        shutil.copy(FIRST_VERSION / "roster.db", site.folder / "state/roster.db")

    def __init__(self, *arguments):
        with sqlite3.connect(f"file:{FIRST_VERSION}/roster.db?mode=ro&immutable=1", uri=True) as database:
            self.base = database.execute("SELECT upstream FROM cache_identity").fetchone()[0]
        database.close()
        super().__init__(*arguments)


class Redefinition(Changing):
    """The cache was made by a definition with other columns."""

    definition = OTHER

    def prepare(self, site, server):
        plain = sites.Site(self.program, site.folder, server.origin, self.base)
        plain.settings["LD_PRELOAD"] = str(self.libraries["identity"])
        plain.sync()


class Daemon(Changing):
    """Two syncs of a daemon, which is stopped afterwards."""

    def act(self, site, server, settings):
        # The socket is not part of the recorded disk.
        (self.folder / "run").mkdir()
        site.settings |= {"ROSTERD_SYNC_INTERVAL": "100ms", "RUNTIME_DIRECTORY": f"{self.folder}/run"}
        server.version = 2
        daemon = site.start("run", **settings)
        try:
            meanwhile = [self.wait(site, 2)]
            server.version = self.version = 3
            self.wait(site, 3)
        finally:
            daemon.send_signal(signal.SIGTERM)
            said = daemon.communicate(timeout=sites.PATIENCE)[1]
        if daemon.returncode:
            raise sites.Fault(f"the daemon exits {daemon.returncode}: {said}")
        return meanwhile

    def wait(self, site, snapshot):
        deadline = time.monotonic() + sites.PATIENCE
        while time.monotonic() < deadline:
            view = sites.View(site.cache)
            if view.content[1] and view.content[1][0][1].endswith(f"v{snapshot}"):
                return view
            time.sleep(0.01)  # a reader gets no event
        raise sites.Fault(f"the daemon publishes no version {snapshot}")


class Again(Changing):
    """A power cut in the first sync after a power cut during a publication."""

    def prepare(self, site, server):
        earlier = Changing(self.program, self.folder, self.libraries)
        earlier.record()
        model = copy.deepcopy(earlier.disk)
        commit = next(n for n, call in enumerate(earlier.calls) if call.second.endswith(b".published"))
        for call in earlier.calls[: commit - 4]:
            model.do(call)
        state = model.state(lambda _: None, lambda file: frozenset(sorted(file.all)[::2]))
        identities = put(state, site.folder)
        site.settings["ROSTER_IDENTITIES"] = str(identities)
        self.identities = dict(tuple(map(int, line.split())) for line in identities.read_text().splitlines())
        self.version = 3


ALL = [First, Changing, Rotation, Older, Redefinition, Daemon, Again]

"""Replays the recorder's log on a simulated disk, and lists the states that a power cut may leave.

The effect of a call is certain only after its file was flushed; for a name, after its folder was flushed (fsync(2)).
Before that, the names of one folder change in the order of the calls, as with a journal. Any subset of the writes to
a file may have reached the disk, in units of sectors. If a file was truncated, later writes are missing unless the
truncation has reached the disk, too.
"""

import os
import struct
from functools import partial
from pathlib import Path

HEAD = struct.Struct("<4I2Q")
SECTOR = 512
# Maximum number of unflushed calls of a file that are left out, or present alone, one after the other.
SINGLES = 4
# Number of random subsets at each point.
RANDOM = 3


class Call:
    def __init__(self, kind, inode, number, first, second):
        self.kind, self.inode, self.number, self.first, self.second = kind, inode, number, first, second

    def __repr__(self):
        what = self.first[:100] if self.kind in "CSRULMTAX" else len(self.first)
        return f"{self.kind} {what} {self.second.decode()} {self.number}"


def calls(log):
    bytes_, at, found = log.read_bytes(), 0, []
    while at < len(bytes_):
        kind, first, second, _, inode, number = HEAD.unpack_from(bytes_, at)
        at += HEAD.size
        found.append(Call(chr(kind), inode, number, bytes_[at : at + first], bytes_[at + first : at + first + second]))
        at += first + second
    return found


class File:
    def __init__(self, inode, content=b""):
        self.inode = inode
        self.durable = content
        self.pending = []  # (offset, bytes) is a write; (length, None) a cut; (length, 0) more room

    def content(self, chosen):
        """The content with these of the pending calls."""
        content = bytearray(self.durable)
        for index, (at, what) in enumerate(self.pending):
            is_there = index in chosen
            if what is None:
                shortens = at < len(content)
                if is_there:
                    content = content[:at] + bytes(max(0, at - len(content)))
                elif shortens:
                    break
            elif is_there and what == 0:
                content += bytes(max(0, at - len(content)))
            elif is_there:
                content += bytes(max(0, at - len(content)))
                content[at : at + len(what)] = what
        return bytes(content)

    @property
    def all(self):
        return frozenset(range(len(self.pending)))

    def flush(self):
        self.durable, self.pending = self.content(self.all), []


class Folder:
    def __init__(self):
        self.durable = {}  # name: File or Folder
        self.pending = []  # [(name, None or File or Folder), …] at once

    def names(self, upto=None):
        names = dict(self.durable)
        for change in self.pending if upto is None else self.pending[:upto]:
            for name, what in change:
                if what is None:
                    names.pop(name, None)
                else:
                    names[name] = what
        return names

    def flush(self):
        self.durable, self.pending = self.names(), []


class Disk:
    """A simulated disk that begins as the folder; `do` replays each call."""

    def __init__(self, folder, identities=None):
        """`identities`: the inodes by which the program knows files, by the inodes of their copies."""
        self.root = str(folder)
        self.identities = identities or {}
        self.inodes = {}
        self.top = self.read(Path(folder))

    def read(self, path):
        if path.is_dir():
            folder = Folder()
            folder.durable = {entry.name: self.read(entry) for entry in path.iterdir()}
            return folder
        inode = os.stat(path).st_ino
        file = File(self.identities.get(inode, inode), path.read_bytes())
        self.inodes[file.inode] = file
        return file

    def find(self, path):
        """The folder that a path is in, and its name there."""
        parts = os.path.relpath(path, self.root).split("/")
        folder = self.top
        for part in parts[:-1]:
            folder = folder.names()[part]
        return folder, parts[-1]

    def at(self, path):
        if os.path.normpath(path) == self.root:
            return self.top
        folder, name = self.find(path)
        return folder.names()[name]

    def do(self, call):
        """Returns the changed file or folder; None if nothing changed."""
        if call.kind in "WTAS":
            file = self.inodes[call.inode]
            if call.kind == "S":
                file.flush()
            else:
                file.pending.append((call.number, {"W": call.first, "T": None, "A": 0}[call.kind]))
            return file
        if call.kind == "D":
            self.at(call.first.decode()).flush()
        elif call.kind in "CMURL":
            self.rename(call, call.first.decode())
        elif call.kind == "X" and not call.first.endswith(b"-shm"):
            raise ValueError(f"{call.first} is mapped, and writes to it are not recorded")
        return None

    def rename(self, call, path):
        folder, name = self.find(path)
        if call.kind == "C":
            what = self.inodes[call.inode] = File(call.inode)
            folder.pending.append([(name, what)])
        elif call.kind == "M":
            folder.pending.append([(name, Folder())])
        elif call.kind == "U":
            folder.pending.append([(name, None)])
        else:
            other, new = self.find(call.second.decode())
            if other is not folder:
                raise ValueError(f"{path} is moved to another folder")
            change = [(new, folder.names()[name])]
            folder.pending.append(change if call.kind == "L" else [*change, (name, None)])

    def live(self):
        """All folders and files that have a name now, or had one at their last flush."""
        folders, files, open_ = [], [], [self.top]
        while open_:
            entry = open_.pop()
            (folders if isinstance(entry, Folder) else files).append(entry)
            if isinstance(entry, Folder):
                found = list(entry.durable.values()) + [what for change in entry.pending for _, what in change if what]
                open_ += [each for each in found if each not in folders and each not in files and each not in open_]
        return folders, files

    def state(self, names, choose):
        """Content and inode by path; the path of a folder ends with a slash. `names`: the number of pending changes
        of each folder that have reached the disk; `choose`: the pending calls of each file that have, or its
        content."""
        state = {}

        def walk(folder, prefix):
            for name, what in folder.names(names(folder)).items():
                if isinstance(what, Folder):
                    state[f"{prefix}{name}/"] = (b"", 0)
                    walk(what, f"{prefix}{name}/")
                else:
                    chosen = choose(what)
                    content = chosen if isinstance(chosen, bytes) else what.content(chosen)
                    state[prefix + name] = (content, what.inode)

        walk(self.top, "")
        return state

    def states(self, changed, dice):
        """The possible states after a power cut now. Each one is a function that makes the state; call it before the
        next call is replayed. `changed` is the result of the last call."""
        folders, files = self.live()
        files = [file for file in files if file.pending]
        every, nothing = (lambda _: None), (lambda _: 0)

        def all_of(file):
            return file.all

        def none_of(_):
            return frozenset()

        def but(one, chosen, others=all_of):
            return lambda file: chosen if file is one else others(file)

        yield partial(self.state, every, all_of)
        yield partial(self.state, every, none_of)
        yield partial(self.state, nothing, none_of)
        for folder in folders:
            for count in range(len(folder.pending)):
                for choose in (all_of, none_of):
                    yield partial(
                        self.state, lambda one, folder=folder, count=count: count if one is folder else None, choose)
        for file in files:
            yield partial(self.state, every, but(file, frozenset()))
            yield partial(self.state, every, but(file, file.all, none_of))
            yield partial(self.state, nothing, but(file, file.all, none_of))
        if isinstance(changed, File) and changed.pending:
            yield from (partial(self.state, every, but(changed, chosen)) for chosen in self.parts(changed, dice))
        for _ in range(RANDOM if files or any(folder.pending for folder in folders) else 0):
            some = {id(file): frozenset(n for n in file.all if dice.random() < 0.5) for file in files}
            counts = {id(folder): dice.randint(0, len(folder.pending)) for folder in folders}
            yield partial(
                self.state, lambda one, counts=counts: counts[id(one)], lambda one, some=some: some.get(id(one), ()))

    def parts(self, file, dice):
        """Partial states of a file that was just written: single calls, torn sectors, and space without the written
        bytes."""
        for index in dice.sample(sorted(file.all), min(SINGLES, len(file.pending))):
            yield file.all - {index}
            yield frozenset({index})
        at, what = file.pending[-1]
        if not what:
            return
        before = file.content(file.all - {len(file.pending) - 1})
        after = file.content(file.all)
        first = (at // SECTOR + 1) * SECTOR
        cuts = list(range(first, at + len(what), SECTOR))
        for cut in {cuts[0], cuts[-1], dice.choice(cuts)} if cuts else ():
            # The sectors before a position, or those after it.
            yield after[:cut] + before[cut:]
            yield before[:cut].ljust(min(cut, len(after)), b"\0") + after[cut:]
        if len(after) > len(before):
            yield before + bytes(len(after) - len(before))

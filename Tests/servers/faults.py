"""Faults that such servers have shown, each again."""

from ground import PAGES, Django
from rounds import OFFSET


def in_parallel(ground):
    """P1: pages by offset are pulled in parallel if upstream tells the number of records"""
    server = ground.server(Django, DELAY="0.2")
    report = ground.roster(server, OFFSET.documented(server, ground.program)).sync()
    assert report["requests"] == PAGES, report
    assert max(int(line[3]) for line in report["log"]) >= PAGES // 2, report["log"]


def tests():
    return [in_parallel]

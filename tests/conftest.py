"""Hypothesis profiles: short and repeatable by default, long with HYPERBOXES_LONG=1."""

import os
import signal

import pytest
from hypothesis import settings

LONG = os.environ.get("HYPERBOXES_LONG") == "1"

settings.register_profile("ci", max_examples=200, derandomize=True, deadline=None)
settings.register_profile("long", max_examples=5000, deadline=None)
settings.load_profile("long" if LONG else "ci")


def pytest_collection_modifyitems(items):
    """Give long tests all the time they need: the limit is meant for short ones that hang."""
    if LONG:
        for item in items:
            item.add_marker(pytest.mark.timeout(0))


def pytest_terminal_summary(terminalreporter):
    """Count scikit-learn's own checks: zero failures is a promise of the README."""
    counts = {
        outcome: sum(
            "test_scikit_learn_check" in report.nodeid for report in terminalreporter.stats.get(outcome, [])
        )
        for outcome in ("passed", "failed", "xfailed", "skipped")
    }
    if any(counts.values()):
        told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        terminalreporter.write_line(f"scikit-learn's estimator checks: {told}")


def pytest_configure():
    """Let SIGINT mean what it does at a terminal: a shell that runs us in the background has it ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def _cluster():
    from postgres import cluster

    with cluster() as address:
        yield address


@pytest.fixture(scope="module")
def postgres(_cluster):
    """Give the connection string of a PostgreSQL database that only this module knows."""
    from postgres import database

    with database(_cluster) as address:
        yield address

"""Models that misbehave, for the runner; here so that processes it starts can import them."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import numpy as np

from hyperboxes.bench.models import Model
from hyperboxes.bench.protocol import WARM_ROWS


class Peer:
    """Does what it is told when it learns, though not yet from the few rows of a warm-up; answers no row."""

    def __init__(self, seed, act=None, **params):
        self.act, self.params = act, params

    def fit(self, X, y):
        if self.act is not None and len(X) > WARM_ROWS:
            self.act(**self.params)
        return self

    def predict(self, X):
        return np.zeros(len(X), int)


def fail():
    raise RuntimeError("no boxes\ntoday")


def spin():
    while True:
        pass


def sleep():
    time.sleep(1000)


def hold():
    """Compute for ever without letting any other thread of the process run."""
    re.match(r"(a+)+b", "a" * 60)


def crash():
    os._exit(9)


def note(file):
    """Leave the number of the process in a file and sleep."""
    Path(file).write_text(str(os.getpid()))
    sleep()


def good_peer(seed):
    return Peer(seed)


def failing_peer(seed):
    return Peer(seed, fail)


def spinning_peer(seed):
    return Peer(seed, spin)


def sleeping_peer(seed):
    return Peer(seed, sleep)


def holding_peer(seed):
    return Peer(seed, hold)


def crashing_peer(seed):
    return Peer(seed, crash)


def noting_peer(seed, file):
    return Peer(seed, note, file=file)


PEERS = {
    "good": Model("good", good_peer),
    "failing": Model("failing", failing_peer),
    "spinning": Model("spinning", spinning_peer),
    "sleeping": Model("sleeping", sleeping_peer),
    "holding": Model("holding", holding_peer),
    "crashing": Model("crashing", crashing_peer),
    "noting": Model("noting", noting_peer),
}

"""Hypothesis profiles: short and repeatable by default, long with HYPERBOXES_LONG=1."""

import os

from hypothesis import settings

LONG = os.environ.get("HYPERBOXES_LONG") == "1"

settings.register_profile("ci", max_examples=200, derandomize=True, deadline=None)
settings.register_profile("long", max_examples=5000, deadline=None)
settings.load_profile("long" if LONG else "ci")

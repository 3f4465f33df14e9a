"""The command line: each command reads a table or a model, calls one public function, writes or prints.

What a command needs is imported where it is used: --help answers at once, rules and sql load no torch.
"""

from __future__ import annotations

from ._app import app, main

# Commands are listed in the order in which they are met.
# isort: off
from . import learning, reading, databases, showing  # noqa: F401

__all__ = ["app", "main"]

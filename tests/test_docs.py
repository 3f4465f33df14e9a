"""What the pages show is what their blocks print today."""

from __future__ import annotations

import contextlib
import shlex
import sys
from pathlib import Path

import pytest
from postgres import cluster
from typer.testing import CliRunner

from hyperboxes.cli import app

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))
from pages import BLOCK, NEEDS_POSTGRES, PAGES, run_page  # noqa: E402 (the folder of the documentation is no package)


def run_command(line):
    done = CliRunner().invoke(app, shlex.split(line, comments=True)[1:], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_its_blocks_print(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with contextlib.ExitStack() as stack:
        # A server of its own: the page makes tables under plain names.
        given = {"dsn": stack.enter_context(cluster())} if page.stem == NEEDS_POSTGRES else {}
        for block, printed in run_page(page, run_command, **given):
            assert block[2] == printed, f"{page.name} is out of date: make readme"


def test_every_page_but_the_index_has_blocks():
    assert [page.stem for page in PAGES if not BLOCK.search(page.read_text(encoding="utf-8"))] == ["index"]

"""What the README shows is what the commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hyperboxes.cli import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def test_python_examples_run(capsys):
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), {})  # noqa: S102 - our own file
    assert "THEN" in capsys.readouterr().out


def test_every_figure_is_printed_by_the_demo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(app, ["demo"]).stdout
    assert blocks("text")
    for block in blocks("text"):
        assert block in shown, "the demo prints other figures: run make readme"


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(((?!https?:)[^)#]+)", README))))
def test_links_lead_somewhere(path):
    assert (ROOT / path).is_file()


def test_commands_and_targets_exist():
    commands = {
        name for block in blocks("sh") for name in re.findall(r"^hyperboxes (\w+)", block, flags=re.MULTILINE)
    }
    assert commands <= {command.callback.__name__ for command in app.registered_commands}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`?make (\w+)", README):
        assert f"\n{target}:" in makefile

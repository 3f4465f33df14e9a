"""Every command as a new user runs it, on a table with categories and gaps, in processes of its own."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from patients import patients
from typer.testing import CliRunner

from hyperboxes import read_model
from hyperboxes.cli import app

DATA = os.environ.get("HYPERBOXES_DATA")
COMMAND = [sys.executable, "-c", "from hyperboxes.cli import main; main()"]


def run(*arguments, **options):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **options)


def start(*arguments, **options):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, **options)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    patients(400).to_csv(folder / "patients.csv", index=False, sep=";", decimal=",")
    patients(200, seed=1).to_parquet(folder / "new.parquet", index=False)
    done = run("fit", folder / "patients.csv", "--target", "ill", "--positive", "yes", "--ignore", "id",
               "-o", folder / "ill.boxes.json")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "decimal comma" in done.stderr
    assert "wrote" in done.stderr
    return folder


def test_the_planted_rule_is_found_and_read(clinic):
    text = run("rules", clinic / "ill.boxes.json").stdout
    assert "age >=" in text
    assert "blood pressure >=" in text
    judged = run("rules", clinic / "ill.boxes.json", clinic / "new.parquet", "--target", "ill", "--json")
    rules = json.loads(judged.stdout)["rules"]
    assert min(rule["precision"] for rule in rules) > 0.8


@pytest.mark.parametrize("learner", ["hypernn", "prim", "fmm"])
def test_every_learner_learns_and_answers_the_same_from_file_and_python(clinic, tmp_path, learner):
    out = tmp_path / "m.boxes.json"
    done = run("fit", clinic / "patients.csv", "--target", "ill", "--ignore", "id", "--learner", learner,
               "-o", out, "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["learner"] == learner
    assert told["rows"] == 400
    boxes = read_model(out)
    assert told["boxes"] == boxes.n_boxes
    predicted = run("predict", out, clinic / "new.parquet", "-o", tmp_path / "a.csv")
    assert predicted.exit_code == 0, predicted.output
    frame = patients(200, seed=1)
    expected = boxes.predict(frame.astype(dict.fromkeys(("sex", "smoker"), "category")))
    assert pd.read_csv(tmp_path / "a.csv")["prediction"].tolist() == expected.tolist()


def test_an_identifier_is_warned_of(clinic, tmp_path):
    done = run("fit", clinic / "patients.csv", "--target", "ill", "--learner", "prim",
               "-o", tmp_path / "m.boxes.json")  # fmt: skip
    assert "no two cells of column 'id' are the same: --ignore it?" in done.stderr


def test_inspect_tells_what_is_in_the_file(clinic):
    text = run("inspect", clinic / "ill.boxes.json").stdout
    assert "HyperNNClassifier" in text
    assert "smoker (3 categories)" in text or "age (number)" in text
    told = json.loads(run("inspect", clinic / "ill.boxes.json", "--json").stdout)
    assert [item["name"] for item in told["features"]] == ["age", "bmi", "blood pressure", "sex", "smoker"]
    assert told["training_rows"] == 400


def test_rounding_writes_a_model_and_tells_its_cost(clinic, tmp_path):
    done = run("round", clinic / "ill.boxes.json", clinic / "patients.csv", "--target", "ill",
               "--max-loss", "0.02", "-o", tmp_path / "short.boxes.json")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "bounds rounded" in done.stdout
    assert read_model(tmp_path / "short.boxes.json").n_boxes == read_model(clinic / "ill.boxes.json").n_boxes


def test_python_and_pandas_forms_run(clinic):
    boxes = read_model(clinic / "ill.boxes.json")
    frame = patients(200, seed=1)
    typed = frame.astype(dict.fromkeys(("sex", "smoker"), "category"))
    expected = boxes.predict(typed).tolist()
    space = {}
    source = run("rules", clinic / "ill.boxes.json", "--as", "python").stdout
    exec(source, space)  # noqa: S102 - that it can be run is what is tested
    assert [space["predict"](row) for row in frame.to_dict("records")] == expected
    query = run("rules", clinic / "ill.boxes.json", "--as", "pandas", "--label", "yes").stdout.strip()
    assert frame.query(query).index.tolist() == [
        row for row, answer in enumerate(expected) if answer == "yes"
    ]
    listed = run("rules", clinic / "ill.boxes.json", "--as", "csv").stdout
    assert listed.startswith("rule,if,then,n_conditions,rows")


def test_a_pipe_from_end_to_end(clinic):
    """Standard input to a model on standard output, and from there to answers."""
    table = (clinic / "patients.csv").read_bytes()
    fitted = start(
        "fit", "-", "--target", "ill", "--ignore", "id", "--learner", "prim", "-o", "-", input=table
    )
    assert fitted.returncode == 0, fitted.stderr
    answered = start("predict", "-", clinic / "new.parquet", "--json", input=fitted.stdout)
    assert answered.returncode == 0, answered.stderr
    lines = [json.loads(line) for line in answered.stdout.splitlines()]
    assert [line["row"] for line in lines] == list(range(1, 201))
    assert {line["prediction"] for line in lines} == {"yes", "no"}


def test_a_reader_that_goes_away_is_no_error(clinic):
    command = [*COMMAND, "predict", str(clinic / "ill.boxes.json"), str(clinic / "new.parquet")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_completion_knows_commands_and_model_files(clinic):
    def complete(words):
        environment = {**os.environ, "_HYPERBOXES_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words),
                       "COMP_CWORD": str(len(words) - 1)}  # fmt: skip
        code = "from hyperboxes.cli import app; app(prog_name='hyperboxes')"
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        return done.stdout.split()

    assert "inspect" in complete(["hyperboxes", "ins"])
    assert complete(["hyperboxes", "inspect", f"{clinic}/i"]) == [f"{clinic}/ill.boxes.json"]
    assert run("--show-completion").exit_code == 0


def on_a_terminal(*arguments):
    """Run with a terminal for standard output and error; give what it showed."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([*COMMAND, *map(str, arguments)], stdin=follower, stdout=follower,
                               stderr=follower, env={**os.environ, "TERM": "xterm-256color"})  # fmt: skip
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(leader)
    assert process.wait() == 0, shown
    return shown.decode()


def test_colour_on_a_terminal_and_none_elsewhere(clinic):
    shown = on_a_terminal("rules", clinic / "ill.boxes.json")
    plain = start("rules", clinic / "ill.boxes.json").stdout.decode()
    assert "\x1b[" in shown
    assert "\x1b" not in plain
    import re

    assert re.sub(r"\x1b\[[\d;]*m", "", shown).replace("\r\n", "\n") == plain


@pytest.mark.skipif(DATA is None, reason="needs HYPERBOXES_DATA")
def test_cars_are_learned_from_text_alone(tmp_path):
    out = tmp_path / "cars.boxes.json"
    done = run("fit", Path(DATA) / "cars.parquet", "--target", "target", "--positive", "unacc", "-o", out)
    assert done.exit_code == 0, done.output
    judged = run("rules", out, Path(DATA) / "cars.parquet", "--target", "target", "--json")
    rules = json.loads(judged.stdout)["rules"]
    assert all("in" in asked for rule in rules for asked in rule["if"])
    frame = pd.read_parquet(Path(DATA) / "cars.parquet")
    frame.to_csv(tmp_path / "cars.csv", index=False)
    from_csv = run("predict", out, tmp_path / "cars.csv", "--json").stdout
    from_parquet = run("predict", out, Path(DATA) / "cars.parquet", "--json").stdout
    assert from_csv == from_parquet


@pytest.mark.skipif(DATA is None, reason="needs HYPERBOXES_DATA")
def test_covtype_is_answered_in_full(tmp_path):
    frame = pd.read_parquet(Path(DATA) / "covtype.parquet")
    sample = frame.sample(4000, random_state=0)
    sample.to_csv(tmp_path / "sample.csv.gz", index=False)
    out = tmp_path / "m.boxes.json"
    done = run("fit", tmp_path / "sample.csv.gz", "--target", "target", "--positive", "7",
               "--learner", "prim", "-o", out)  # fmt: skip
    assert done.exit_code == 0, done.output
    answered = run("predict", out, Path(DATA) / "covtype.parquet", "-o", tmp_path / "a.parquet")
    assert answered.exit_code == 0, answered.output
    got = pd.read_parquet(tmp_path / "a.parquet")
    assert len(got) == 581_012
    assert np.mean((got["prediction"] == "7") == (frame["target"] == 7)) > 0.95

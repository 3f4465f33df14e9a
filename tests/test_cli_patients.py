"""Every command as a new user runs it, on a table with categories and gaps, in processes of its own."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import psycopg
import pytest
from patients import patients
from typer.testing import CliRunner

from hyperboxes import Boxes, read_model, write_model
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


def test_an_interrupt_ends_with_one_line_and_its_own_code(clinic):
    command = [*COMMAND, "predict", str(clinic / "ill.boxes.json"), "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(3)  # it waits for the table
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr.read() == "interrupted\n"


def test_a_terminal_that_lacks_a_letter_gets_its_number(clinic, tmp_path):
    write_model(
        Boxes.from_rules([({"größe": (1, None)}, "groß")], default="klein"), tmp_path / "m.boxes.json"
    )
    done = start("rules", tmp_path / "m.boxes.json", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert done.stdout.startswith(b"IF      gr\\xf6\\xdfe >= 1\nTHEN gro\\xdf")


def test_completion_knows_commands_and_model_files(clinic):
    def complete(words):
        environment = {**os.environ, "_HYPERBOXES_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words),
                       "COMP_CWORD": str(len(words) - 1)}  # fmt: skip
        code = "from hyperboxes.cli import app; app(prog_name='hyperboxes')"
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        return done.stdout.split()

    assert "inspect" in complete(["hyperboxes", "ins"])
    assert complete(["hyperboxes", "inspect", f"{clinic}/i"]) == [f"{clinic}/ill.boxes.json"]
    # Which shell it is the parent process tells, and tests may be run by none.
    shown = subprocess.run(
        ["/bin/bash", "-c", f"{shlex.join(COMMAND)} --show-completion; exit $?"], capture_output=True
    )
    assert shown.returncode == 0
    assert b"complete_bash" in shown.stdout


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


@pytest.fixture(scope="module")
def databases(clinic):
    """The new patients in DuckDB and SQLite, with a number for each."""
    frame = patients(200, seed=1)
    frame.insert(0, "nr", range(len(frame)))
    with duckdb.connect(str(clinic / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE visits AS SELECT * FROM frame")
    with contextlib.closing(sqlite3.connect(clinic / "clinic.sqlite")) as connection:
        frame.to_sql("visits", connection, index=False)
    return clinic


@pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result")
@pytest.mark.parametrize(
    "source", ["patients.csv", "new.parquet", "clinic.duckdb::visits", "clinic.sqlite::visits"]
)
def test_verify_finds_no_difference(databases, source):
    done = run("verify", databases / "ill.boxes.json", f"{databases}/{source}", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["mismatches"] == 0
    assert told["rows"] == (400 if source == "patients.csv" else 200)


@pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result")
def test_verify_says_by_its_exit_code_that_something_differs(databases, monkeypatch):
    verify = sys.modules["hyperboxes.sql.verify"]  # the package's own name for it is the function
    real = verify.to_sql

    def wrong(*arguments, **options):
        return real(*arguments, **options).replace("'yes'", "'no'")

    monkeypatch.setattr(verify, "to_sql", wrong)
    done = run("verify", databases / "ill.boxes.json", databases / "new.parquet")
    assert done.exit_code == 3
    assert ": database 'no', predict 'yes'" in done.stdout


@pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result")
def test_categories_that_look_like_numbers_stay_text(tmp_path):
    boxes = Boxes.from_rules(
        [({"code": {"01", "x"}}, "yes")], default="no", categories={"code": ["01", "2", "x"]}
    )
    write_model(boxes, tmp_path / "m.boxes.json")
    (tmp_path / "t.csv").write_text("code,n\n01,1\n2,2\n1,3\n")
    answered = run("predict", tmp_path / "m.boxes.json", tmp_path / "t.csv").stdout
    assert answered == "code,n,prediction\n01,1,yes\n2,2,no\n1,3,no\n"
    done = run("verify", tmp_path / "m.boxes.json", tmp_path / "t.csv", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["mismatches"] == 0


def test_sql_takes_types_and_name_from_a_table(databases):
    text = run(
        "sql", databases / "ill.boxes.json", "--types-from", f"{databases}/clinic.duckdb::visits"
    ).stdout
    with duckdb.connect(str(databases / "clinic.duckdb"), read_only=True) as connection:
        answers = [row[-1] for row in connection.execute(text).fetchall()]
    frame = patients(200, seed=1).astype(dict.fromkeys(("sex", "smoker"), "category"))
    assert answers == read_model(databases / "ill.boxes.json").predict(frame).tolist()
    where = run("sql", databases / "ill.boxes.json", "--kind", "where", "--label", "yes").stdout
    with duckdb.connect(str(databases / "clinic.duckdb"), read_only=True) as connection:
        found = connection.execute(f"SELECT count(*) FROM visits WHERE {where}").fetchone()
    assert found == (answers.count("yes"),)


@pytest.mark.parametrize("source", ["new.parquet", "clinic.duckdb::visits", "clinic.sqlite::visits"])
def test_search_finds_rows_like_those_marked(databases, tmp_path, source):
    key = ["--key", "id"] if source == "new.parquet" else ["--key", "nr"]
    done = run("search", f"{databases}/{source}", *key, "--like-where", "ill = 'yes'", "--limit", "10",
               "--json", "-o", tmp_path / "like.boxes.json")  # fmt: skip
    assert done.exit_code == 0, done.output
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(row["ill"] == "yes" for row in found) >= 8
    assert read_model(tmp_path / "like.boxes.json").n_boxes
    assert "rows lie in a box" in done.stderr
    marks = [found[0][key[1]], found[1][key[1]]]
    again = run("search", f"{databases}/{source}", *key, "--like", marks[0], "--like", marks[1], "--sql")
    assert again.exit_code == 0, again.output
    assert "SELECT" in again.stdout


def test_search_creates_indexes_only_if_asked(tmp_path):
    path = tmp_path / "c.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        patients(5000).to_sql("visits", connection, index_label="nr")
    rare = "age BETWEEN 40 AND 43 AND bmi BETWEEN 25 AND 27"
    asked = ["search", f"{path}::visits", "--key", "nr", "--like-where", rare]

    def indexes():
        with contextlib.closing(sqlite3.connect(path)) as connection:
            return connection.execute("SELECT count(*) FROM sqlite_master WHERE type <> 'table'").fetchone()[
                0
            ]

    before = indexes()
    advised = run(*asked, "--advice").stdout
    assert "CREATE" in advised
    assert indexes() == before
    assert run(*asked, "--create-indexes").exit_code == 0
    assert indexes() > before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["search", "{folder}/new.parquet"], "--like KEY, repeated, or --like-where"),
        (["search", "{folder}/absent.parquet", "--like", "1"], "No such file"),
        (["search", "{folder}/clinic.duckdb::visits", "--like", "999", "--key", "nr"], "999"),
        (["search", "{folder}/clinic.duckdb::visits", "--like-where", "nonsense = 1"], "nonsense"),
        (["verify", "{folder}/ill.boxes.json", "{folder}/absent.parquet"], "No such file"),
        (["verify", "{folder}/ill.boxes.json", "{folder}/clinic.duckdb::absent"], "absent"),
        (["sql", "{folder}/ill.boxes.json", "--types-from", "{folder}/clinic.sqlite::absent"], "absent"),
    ],
)
def test_what_goes_wrong_in_a_database_is_one_line(databases, arguments, message):
    done = run(*(argument.format(folder=databases) for argument in arguments))
    assert done.exit_code == 1, done.output
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_postgres_is_read_verified_and_searched(databases, postgres):
    frame = patients(200, seed=1)
    with psycopg.connect(postgres) as connection:
        connection.execute("DROP TABLE IF EXISTS visits")
        connection.execute(
            "CREATE TABLE visits (nr serial PRIMARY KEY, id text, age smallint, bmi double precision, "
            '"blood pressure" real, sex text, smoker text, ill text)'
        )
        with connection.cursor() as cursor:
            marks = ", ".join(["%s"] * len(frame.columns))
            cells = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
            names = ", ".join(f'"{name}"' for name in frame.columns)
            cursor.executemany(f"INSERT INTO visits ({names}) VALUES ({marks})", cells)
    url = f"postgresql:///?{postgres.replace(' ', '&')}" if "://" not in postgres else postgres
    source = f"{url}::public.visits"
    done = run("verify", databases / "ill.boxes.json", source, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["mismatches"] == 0
    answered = run("predict", databases / "ill.boxes.json", source, "--json")
    assert len(answered.stdout.splitlines()) == 200
    found = run("search", source, "--key", "nr", "--like-where", "ill = 'yes'", "--limit", "5")
    assert found.exit_code == 0, found.output
    assert len(found.stdout.splitlines()) == 6


@pytest.mark.skipif(not DATA, reason="needs HYPERBOXES_DATA")
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


@pytest.mark.skipif(not DATA, reason="needs HYPERBOXES_DATA")
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

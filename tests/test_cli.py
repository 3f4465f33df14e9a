from __future__ import annotations

import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from hyperboxes import Boxes, read_model, write_model
from hyperboxes.cli import app

BOXES = Boxes.from_rules(
    [({"length": (None, 2.5), "kind": {"red", "blue"}}, "small")],
    default="large",
    categories={"kind": ["red", "green", "blue"]},
    feature_names=["length", "width", "kind"],
)
FRAME = pd.DataFrame(
    {"id": ["007", "008", "009"], "length": [2.5, 2.6, 1.0], "width": [1, 2, 3],
     "kind": ["red", "red", "green"], "size": ["small", "large", "large"]}
)  # fmt: skip


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.boxes.json"
    write_model(BOXES, path)
    return path


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    FRAME.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_predict_adds_the_answers_and_keeps_the_table(tmp_path, model, suffix):
    file, out = tmp_path / f"t{suffix}", tmp_path / f"out{suffix}"
    read, write = (pd.read_csv, FRAME.to_csv) if suffix == ".csv" else (pd.read_parquet, FRAME.to_parquet)
    write(file, index=False)
    result = run("predict", model, file, "-o", out)
    assert result.exit_code == 0, result.output
    answered = read(out, dtype={"id": str}) if suffix == ".csv" else read(out)
    assert answered["prediction"].tolist() == ["small", "large", "large"]
    pd.testing.assert_frame_equal(answered.drop(columns="prediction"), FRAME, check_dtype=False)


def test_predict_prints_without_an_output_and_keeps_every_cell_as_written(tmp_path, model):
    file = tmp_path / "t.csv"
    file.write_text("length,width,kind\n2.50,NA,red\n1e0,,blue\n")
    result = run("predict", model, file)
    assert result.stdout == "length,width,kind,prediction\n2.50,NA,red,small\n1e0,,blue,small\n"


def test_csv_numbers_are_read_to_the_last_bit(tmp_path):
    cells = np.random.default_rng(0).uniform(0, 1, 1000)
    (tmp_path / "t.csv").write_text("a\n" + "\n".join(map(repr, cells.tolist())))
    boxes = Boxes.from_rules([({"a": (cell, cell)}, True) for cell in cells.tolist()], default=False)
    write_model(boxes, tmp_path / "m.boxes.json")
    run("predict", tmp_path / "m.boxes.json", tmp_path / "t.csv", "-o", tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["prediction"].all()


def test_rules_print_the_model_and_judge_it_on_a_table(model, table):
    assert run("rules", model).stdout.startswith("IF      length <= 2.5\n    AND kind in")
    judged = run("rules", model, table, "--target", "size").stdout
    assert "given rows" in judged
    assert "accuracy 1.000" in judged
    assert run("rules", model, "--markdown").stdout.startswith("|  | if | then |")


def test_sql_runs_in_a_database(tmp_path, model):
    result = run("sql", model, "--table", "main.t")
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT 2.5 AS length, 1 AS width, 'red' AS kind")
        assert con.execute(result.stdout).fetchone()[-1] == "small"
    assert "DOUBLE PRECISION" in run("sql", model, "--dialect", "postgres").stdout
    assert run("sql", model).stdout.startswith("CASE")


@pytest.mark.parametrize("kind", ["boxes", "pairs", "intervals", "parallel"])
def test_plot_writes_a_picture(tmp_path, model, table, kind):
    result = run("plot", model, table, "--target", "size", "-o", tmp_path / "p.png", "--feature", "width",
                 "--feature", "length", "--kind", kind)  # fmt: skip
    assert result.exit_code == 0, result.output
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_fit_writes_a_model_that_describes_the_asked_class(tmp_path):
    data = load_iris(as_frame=True)
    frame = data.data.assign(species=np.asarray(data.target_names)[data.target])
    frame["colour"] = np.where(data.target == 0, "blue", "red")
    frame.to_csv(tmp_path / "iris.csv", index=False)
    out = tmp_path / "iris.boxes.json"
    result = run(
        "fit",
        tmp_path / "iris.csv",
        "--target",
        "species",
        "--positive",
        "setosa",
        "--n-boxes",
        "2",
        "-o",
        out,
    )
    assert result.exit_code == 0, result.output
    boxes = read_model(out)
    assert set(boxes.labels.tolist()) == {"setosa"}
    assert boxes.n_boxes <= 2
    assert "setosa" in result.stdout
    judged = run("rules", out, tmp_path / "iris.csv", "--target", "species").stdout
    assert "accuracy 1.000" in judged  # the other classes count as the rest


@pytest.mark.parametrize("uncovered", ["auto", "default"])
def test_many_classes_go_to_sql_whatever_rows_in_no_box_get(tmp_path, uncovered):
    data = load_iris(as_frame=True)
    data.data.assign(species=np.asarray(data.target_names)[data.target]).to_parquet(tmp_path / "iris.parquet")
    out = tmp_path / "iris.boxes.json"
    fitted = run("fit", tmp_path / "iris.parquet", "--target", "species", "--n-boxes", "2", "-o", out,
                 "--uncovered", uncovered)  # fmt: skip
    assert fitted.exit_code == 0, fitted.output
    assert read_model(out).uncovered == ("nearest" if uncovered == "auto" else "default")
    with duckdb.connect() as con:
        con.register("iris", data.data)
        answers = [row[-1] for row in con.execute(run("sql", out, "--table", "iris").stdout).fetchall()]
    assert answers == read_model(out).predict(data.data).tolist()


@pytest.mark.parametrize(
    "arguments",
    [
        ["sql", "{model}", "--dialect", "oracle"],
        ["fit", "{table}", "--target", "size", "-o", "x.boxes.json", "--learner", "forest"],
        ["plot", "{model}", "{table}", "--target", "size", "-o", "x.png", "--kind", "pie"],
        ["rules", "{model}", "--as", "latin"],
        ["fit", "{table}"],
        ["nonsense"],
    ],
)
def test_what_is_not_understood_ends_with_two(model, table, arguments):
    result = run(*(argument.format(model=model, table=table) for argument in arguments))
    assert result.exit_code == 2
    assert "Error" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rules", "absent.boxes.json"], "error: absent.boxes.json: No such file"),
        (["rules", "{table}"], ".boxes.json"),
        (["rules", "{model}", "{table}"], "--target"),
        (["rules", "{model}", "{table}", "--target", "q"], "t.csv: no column 'q'; the columns are ['id'"),
        (["predict", "{model}", "absent.csv"], "absent.csv: No such file"),
        (["predict", "{model}", "{model}"], "a table ends in .csv"),
        (["predict", "{model}", "{short}"], "short.csv: the columns ['kind'] are missing"),
        (["predict", "{model}", "{text}"], "text.csv: column 'length' holds text"),
        (["predict", "{model}", "{ragged}"], "ragged.csv, line 3: there are 5 cells where the header has 3"),
        (["predict", "{model}", "{table}", "--column", "id"], "there is a column 'id' already"),
        (["predict", "{model}", "{table}", "-o", "no/x.csv"], "there is no directory no"),
        (["round", "{model}", "{table}", "--target", "size", "-o", "{out}", "--max-loss", "-1"], "max_loss"),
        (["rules", "{model}", "--as", "pandas", "--label", "q"], "--label 'q' is not among the classes"),
        (["inspect", "{table}"], ".boxes.json"),
        (["predict", "{model}", "{table}", "-o", "x.xls"], "x.xls: a table ends in"),
        (["plot", "{model}", "{table}", "--target", "size", "-o", "x.png", "--feature", "q"], "no feature"),
        (["fit", "{table}", "--target", "size", "-o", "x.json"], "x.json: a model file ends in .boxes.json"),
        (["fit", "{table}", "--target", "size", "-o", "no/x.boxes.json"], "there is no directory no"),
        (["fit", "{table}", "--target", "size", "-o", "{out}", "--ignore", "q"], "no column 'q' to ignore"),
        (["fit", "{table}", "--target", "size", "-o", "{out}", "--learner", "fmm", "--n-boxes", "3"],
         "leave --n-boxes out"),
        (["fit", "{table}", "--target", "size", "-o", "{out}", "--learner", "fmm", "--uncovered", "reject"],
         "fmm answers every row"),
        (["fit", "{table}", "--target", "size", "-o", "{out}", "--n-boxes", "0"], "--n-boxes must be"),
        (["fit", "{table}", "--target", "size", "-o", "{out}", "--positive", "q"], "not among the classes"),
        (["fit", "{hole}", "--target", "size", "-o", "{out}"], "hole.csv, line 3, column 'size': no value"),
        (["fit", "{bare}", "--target", "size", "-o", "{out}"], "bare.csv: there are no rows to learn from"),
        (["plot", "{model}", "{table}", "--target", "size", "-o", "x.doc"], "x.doc: a picture ends in"),
        (["report", "{model}", "{table}", "--target", "size", "-o", "no/x.html"], "no/x.html: there is no"),
        (["search", "{table}", "--like", "1"], "tells rows apart, by key= or --key"),
        (["fit", "{broken}", "--target", "size", "-o", "{out}"], "broken.parquet: "),
    ],
)  # fmt: skip
def test_errors_are_one_clear_line(tmp_path, model, table, arguments, message):
    files = {"model": model, "table": table, "out": tmp_path / "out.boxes.json"}
    contents = {
        "short.csv": "length,width\n1,2\n",
        "text.csv": "length,width,kind\nlong,2,red\n",
        "ragged.csv": "length,width,kind\n1,2,red\n1,2,3,4,5\n",
        "bare.csv": "length,size\n",
        "hole.csv": "length,size\n1,small\n2,\n",
        "broken.parquet": "PAR1 but not really",
    }
    for name, content in contents.items():
        files[name.split(".")[0]] = tmp_path / name
        (tmp_path / name).write_text(content)
    result = run(*(argument.format(**files) for argument in arguments))
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert "\\u000a" not in result.stderr
    assert not (tmp_path / "out.boxes.json").exists()


def test_one_box_is_one_box(tmp_path):
    write_model(Boxes.from_rules([({"a": (1, None)}, "x")], default="y", feature_names=["a", "b"]),
                tmp_path / "m.boxes.json")  # fmt: skip
    told = run("inspect", tmp_path / "m.boxes.json").stdout
    assert "1 with 1 condition\n" in told
    assert "in 1 of 1 box\n" in told
    assert "1 other is not mentioned" in told


def test_names_from_a_strangers_file_cannot_command_the_terminal(tmp_path, model):
    result = run("predict", model, tmp_path / "\x1b[2J.csv")
    assert result.exit_code == 1
    assert "\x1b" not in result.stderr
    assert "\\u001b[2J.csv: No such file" in result.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["rules", "{model}"], ["sql", "{model}", "--table", "t"],
                                       ["inspect", "{model}"]])  # fmt: skip
def test_reading_a_model_loads_neither_torch_nor_matplotlib(model, arguments):
    given = [argument.format(model=model) for argument in arguments]
    code = (
        "import sys; from hyperboxes.cli import app; app(sys.argv[1:], standalone_mode=False); "
        "heavy = {'torch', 'matplotlib', 'sklearn', 'pandas'} & set(sys.modules); assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code, *given], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize(
    "command",
    ["fit", "round", "predict", "rules", "inspect", "sql", "verify", "search", "plot", "report", "demo",
     "reproduce"],
)  # fmt: skip
def test_help_teaches_by_example(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"\n  hyperboxes {command} " in result.output.replace(
        f"  hyperboxes {command}\n", f"  hyperboxes {command} \n"
    )


def test_demo_shows_that_the_boxes_are_the_model(tmp_path):
    result = run("demo", "--output", tmp_path)
    assert result.exit_code == 0, result.output
    assert "the boxes alone reproduce predict on 100 % of rows" in result.stdout
    assert "agrees on 569 of 569 rows" in result.stdout
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == ["cancer.boxes.json", "cancer.png", "figure1.png"]

"""Laws of search by classification, on real databases."""

from __future__ import annotations

import contextlib
import sqlite3

import conftest
import duckdb
import numpy as np
import pytest
from engines import connect, load
from hostile import TEXTS, sendable
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import boxes

import hyperboxes
from hyperboxes import Boxes
from hyperboxes.retrieval import session
from hyperboxes.retrieval.advice import grid_cuts
from hyperboxes.retrieval.indexes import KINDS, Index, find_indexes, index_name
from hyperboxes.retrieval.learning import Round, Rows, estimated_share, expected_looks, fit_marked
from hyperboxes.retrieval.plans import explain
from hyperboxes.retrieval.ranking import count_query, depth, ranked_query
from hyperboxes.retrieval.rows import Sample, drawn_keys, read_sample
from hyperboxes.retrieval.sources import open_source
from hyperboxes.sql.dialects import DIALECTS
from hyperboxes.tables import Table

ENGINES = ["duckdb", "sqlite", "postgres"]
N = 3000


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


@pytest.fixture
def connection(engine, postgres):
    with contextlib.closing(connect(engine, postgres)) as opened:
        yield opened


def made_table(seed=0, n=N):
    """Make rows of which those in a box of three columns are of a kind; some cells are missing."""
    rng = np.random.default_rng(seed)
    matrix = rng.uniform(size=(n, 5)).round(6)
    matrix[:, 3] = rng.integers(0, 20, n)
    matrix[rng.uniform(size=(n, 5)) < 0.02] = np.nan
    kind = (matrix[:, 0] >= 0.3) & (matrix[:, 0] <= 0.6) & (matrix[:, 1] <= 0.5) & (matrix[:, 3] >= 8)
    return matrix, kind


def columns_of(matrix, kinds=("double", "real", "double", "bigint", "double")):
    cells = [[None if np.isnan(cell) else cell for cell in column] for column in matrix.T.tolist()]
    cells[1] = [None if cell is None else float(np.float32(cell)) for cell in cells[1]]
    cells[3] = [None if cell is None else int(cell) for cell in cells[3]]
    return {
        f"c{place}": (kind, column) for place, (kind, column) in enumerate(zip(kinds, cells, strict=True))
    }


def matrix_of(columns):
    return np.array(
        [[np.nan if cell is None else float(cell) for cell in cells] for _, cells in columns.values()]
    ).T


@pytest.fixture
def served(engine, connection):
    """Give a search of 40 marked rows in a table of this database, and the table in memory."""
    matrix, kind = made_table()
    columns = columns_of(matrix)
    load(connection, engine, "things", columns, "id", list(range(1, N + 1)))
    chosen = np.random.default_rng(1).choice(np.flatnonzero(kind), 40, replace=False) + 1
    found = hyperboxes.search(connection, "things", positives=chosen.tolist(), limit=None)
    return found, matrix_of(columns), kind


# -- what is found ---------------------------------------------------------------------------------


def expected_hits(found, matrix, keys):
    """Rank the rows that predict says yes to, in Python."""
    inside = found.boxes.contains(matrix)
    rows = np.flatnonzero(found.boxes.predict(matrix))
    n_boxes, deep = inside[rows].sum(axis=1), found.depth(matrix)[rows]
    listed = [
        (keys[row], int(number), float(far)) for row, number, far in zip(rows, n_boxes, deep, strict=True)
    ]
    by_depth = found.asked.rank == "depth"
    return sorted(
        listed, key=lambda hit: (-hit[2], -hit[1], hit[0]) if by_depth else (-hit[1], -hit[2], hit[0])
    )


def test_hits_are_the_rows_that_predict_finds_in_the_order_of_python(served):
    found, matrix, kind = served
    expected = expected_hits(found, matrix, range(1, N + 1))
    assert list(zip(*found.hits, strict=True)) == expected
    assert found.count() == len(expected) > 0
    right = kind[[key - 1 for key in found.hits.key]].mean()
    assert right > 0.7
    assert len(expected) * right / kind.sum() > 0.6


def test_every_kind_of_index_gives_the_same_hits_and_serves_them(engine, served):
    found, _, _ = served
    for kind in KINDS[engine]:
        if engine == "duckdb":
            continue
        indexed = found.create_indexes(kind)
        assert indexed.hits == found.hits, kind
        assert indexed.count() == found.count()


@pytest.mark.parametrize("rank", ["depth", "boxes"])
def test_drawn_boxes_find_what_python_finds_through_any_index(engine, connection, rank):
    if engine == "postgres":
        # So that few rows are looked up in an index as well, which seems dear enough to compile the query.
        connection.execute("SET enable_seqscan = off")
        connection.execute("SET jit = off")

    @settings(max_examples=(conftest.LONG and 2000) or 50)
    @given(data=st.data())
    def law(data):
        made = data.draw(boxes(uncovered=("default",), counts=False, max_boxes=3))
        assume(sendable(made, *DIALECTS.values()) and made.n_boxes > 0)
        from hostile import columns_for
        from hostile import matrix_of as cells_of

        columns = data.draw(columns_for(made))
        keys = data.draw(st.permutations(range(12)))
        load(connection, engine, "drawn", columns, "the key", keys)
        source = open_source(connection, "drawn", None)
        matrix = cells_of(made, columns)
        units = st.sampled_from([1.0, 0.1, 1e-300, 1e300])
        unit = np.array([data.draw(units) for _ in range(made.n_features)])
        inside = made.contains(matrix)
        deep = depth(made, matrix, unit)
        listed = [
            (keys[row], int(inside[row].sum()), float(deep[row])) for row in range(12) if inside[row].any()
        ]
        signs = (2, 1) if rank == "depth" else (1, 2)
        expected = sorted(listed, key=lambda hit: (-hit[signs[0]], -hit[signs[1]], hit[0]))

        def hits(hints):
            rows = source.rows(ranked_query(source, made, unit, rank, None, hints))
            assert source.rows(count_query(source, made, hints))[0][0] == len(rows)
            return [(key, int(number), float(far)) for key, number, far in rows]

        assert hits(lambda box: []) == expected
        for index in drawn_indexes(data, source, made):
            source.run(index.statements(source))
            assert hits(lambda box, index=index: index.hints(source, made, box)) == expected
            assert index in find_indexes(source)

    law()


def drawn_indexes(data, source, made):
    """Make one index of each kind over drawn columns."""
    numeric = [name for name in made.feature_names if name not in made.categories]
    finite = np.concatenate([made.lower, made.upper]).ravel()
    near = [float(cut) for cut in finite[np.isfinite(finite) & (np.abs(finite) < 2.0**53)]] + [0.0, 1.5]
    found = []
    for kind in KINDS[source.dialect.name]:
        if kind == "sorted" or not numeric:
            continue
        ranges = tuple(data.draw(st.lists(st.sampled_from(numeric), min_size=1, max_size=3, unique=True)))
        cuts = {}
        if kind == "grid":
            some = st.lists(st.sampled_from(near), min_size=1, max_size=5, unique=True)
            cuts = {name: tuple(sorted(data.draw(some))) for name in ranges[:-1]}
        found.append(Index(kind, index_name(source, kind, ranges), (), ranges, cuts))
    return found


def test_an_r_tree_follows_the_table(postgres):
    del postgres
    connection = sqlite3.connect(":memory:")
    matrix, kind = made_table()
    load(connection, "sqlite", "things", columns_of(matrix), "id", list(range(1, N + 1)))
    marked = (np.flatnonzero(kind)[:40] + 1).tolist()
    found = hyperboxes.search(connection, "things", positives=marked, limit=None).create_indexes("rtree")
    first, second, third = found.hits.key[:3]
    connection.execute("DELETE FROM things WHERE id = ?", [first])
    connection.execute("UPDATE things SET c0 = -5, c1 = -5, c2 = -5, c3 = -5, c4 = -5 WHERE id = ?", [second])
    connection.execute(
        "INSERT INTO things SELECT 99999, c0, c1, c2, c3, c4 FROM things WHERE id = ?", [third]
    )
    connection.execute("INSERT OR REPLACE INTO things SELECT * FROM things WHERE id = ?", [third])
    again = hyperboxes.search(
        connection, "things", positives=[key for key in marked if key not in (first, second)]
    )
    through = found.source.rows(found.sql)
    plain = found.source.rows(
        ranked_query(found.source, found.boxes, found.unit, "depth", None, lambda box: [])
    )
    assert through == plain
    keys = [row[0] for row in plain]
    assert 99999 in keys
    assert first not in keys
    assert again.indexes == found.indexes  # a later search finds them


# -- learning --------------------------------------------------------------------------------------


def table(rows):
    return Table(rows, ("a", "b", "c", "d")[: rows.shape[1]], {}, frozenset())


def test_no_negatives_are_needed_even_where_positives_are_common():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(20_000, 4))
    for high in (0.2, 0.7):
        kind = (X[:, 0] <= high) & (X[:, 1] <= high)
        positive = X[np.flatnonzero(kind)[:50]]

        none = table(X[:0])
        learned = fit_marked(
            Rows(table(positive), none, none, np.zeros(0, bool), table(X[10_000:15_000]), 20_000),
            max_boxes=5, max_features=4, seed=0,
        )  # fmt: skip
        said = learned.predict(X[15_000:])
        truth = kind[15_000:]
        assert 2 * (said & truth).sum() / (said.sum() + truth.sum()) > 0.85


def test_the_share_of_positives_is_read_off_a_pure_box():
    of_positives = np.zeros((50, 2), bool)
    of_positives[:25, 0] = True  # half of the positives, and nothing else
    of_positives[:, 1] = True
    of_background = np.zeros((1000, 2), bool)
    of_background[:100, 0] = True
    of_background[:600, 1] = True
    assert estimated_share(of_positives, of_background) == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_few_positives_find_themselves(n):
    with duckdb.connect() as connection:
        matrix, kind = made_table()
        load(connection, "duckdb", "things", columns_of(matrix), "id", list(range(1, N + 1)))
        whole = np.flatnonzero(kind & ~np.isnan(matrix).any(axis=1))
        marked = (whole[:n] + 1).tolist()
        found = hyperboxes.search(connection, "things", positives=marked, limit=None)
        assert found.boxes.n_boxes >= 1
        assert set(marked) & set(found.hits.key)
        assert found.boxes.restricted.sum(axis=1).max() <= 4
        assert found.count() < N / 2


def test_marking_wrong_hits_drives_them_out(served):
    found, _, kind = served
    wrong = [key for key in found.hits.key if not kind[key - 1]]
    right = [key for key in found.hits.key if kind[key - 1]]
    again = found.mark(positives=right[:40], negatives=wrong[:40])
    assert again is not found
    assert len(again.positives) > len(found.positives)
    precision = [kind[[key - 1 for key in one.hits.key]].mean() for one in (found, again)]
    assert precision[1] >= precision[0]
    back = again.mark(positives=wrong[:1])
    assert wrong[0] in back.positives
    assert wrong[0] not in back.negatives


def test_marks_among_hits_count_as_looked_at_and_given_ones_as_positives(monkeypatch):
    seen = []

    def watched(rows, rounds=(), **asked):
        seen.append((len(rows.positive.matrix), len(rows.negative.matrix), rows.liked.tolist(), len(rounds)))
        return fit_marked(rows, rounds, **asked)

    monkeypatch.setattr(session, "fit_marked", watched)
    with duckdb.connect() as database:
        database.execute("CREATE TABLE t AS SELECT i AS id, i % 100 AS a, i % 7 AS b FROM range(3000) r(i)")
        found = hyperboxes.search(
            database, "t", positives="a >= 90 AND b = 3 AND id < 1500", negatives=[1], key="id"
        )
        given = len(found.positives)
        hits = found.spread(4)
        known = {1, *found.positives, *found.hits.key}
        outside = next(key for key in range(3000) if key not in known)
        found.mark(positives=hits[:3], negatives=[hits[3], outside])
    assert seen == [(given, 1, [], 0), (given, 2, [True] * 3 + [False], 1)]


def test_rows_to_mark_are_spread_over_the_ranking(served):
    found, _, _ = served
    assert set(found.spread(10**6)) == set(found.hits.key) - set(found.positives)
    drawn = found.spread(20)
    assert len(set(drawn)) == 20
    assert not set(drawn) & set(found.positives)
    places = np.array([found.hits.key.index(key) for key in drawn])
    assert (np.diff(places) > 0).all()
    assert np.diff(places, prepend=0, append=len(found.hits)).max() <= 4 * len(found.hits) / 20


def test_nearest_rows_are_the_unmarked_hits_nearest_to_positives(served):
    found, matrix, kind = served
    liked = matrix[[key - 1 for key in found.positives]]

    def distance(key):
        away = np.abs(matrix[key - 1] - liked) / found.unit
        return np.sort(np.sqrt((np.where(np.isnan(away), 1.0, away) ** 2).sum(axis=1)))[:3].mean()

    unmarked = [key for key in found.hits.key if key not in found.positives]
    expected = sorted(unmarked, key=lambda key: (distance(key), unmarked.index(key)))
    assert found.nearest(25) == tuple(expected[:25])
    assert (
        kind[[key - 1 for key in found.nearest(25)]].mean()
        >= kind[[key - 1 for key in unmarked]].mean() - 0.1
    )


def test_marks_stand_for_the_rows_they_were_drawn_from():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(50_000, 2))
    rounds = []
    seen = []
    for high, n_marked in ((0.5, 300), (0.8, 200)):
        boxes = Boxes([[0.0, 0.0]], [[high, high]], [True], default=False)
        hits = np.flatnonzero(boxes.predict(X))
        seen.append(rng.choice(hits, n_marked, replace=False))
        rounds.append(Round(boxes, len(hits), n_marked))
    rows = X[np.concatenate(seen)]
    stand_for = 1 / expected_looks(rounds, rows)
    for edge in (0.3, 0.6, 0.8):
        truth = (edge >= X).all(axis=1).sum()
        assert stand_for[(rows <= edge).all(axis=1)].sum() == pytest.approx(truth, rel=0.25)


def test_marks_in_a_corner_of_the_hits_do_not_draw_the_boxes_there():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(20_000, 4))
    kind = (X[:, 0] <= 0.4) & (X[:, 1] <= 0.5)
    found = Boxes([[-np.inf] * 4], [[0.4, 0.5, np.inf, np.inf]], [True], default=False)
    first, corner = X[np.flatnonzero(kind)[:50]], X[np.flatnonzero((X[:, :2] <= 0.15).all(axis=1))[:200]]
    none, drawn, yes = table(X[:0]), table(X[10_000:15_000]), np.ones(len(corner), bool)
    marked = Rows(table(first), none, table(corner), yes, drawn, 20_000)
    counted = Rows(table(np.concatenate([first, corner])), none, none, yes[:0], drawn, 20_000)

    def recall(rows, rounds):
        learned = fit_marked(rows, rounds, max_boxes=5, max_features=4, seed=0)
        return (learned.predict(X) & kind).sum() / kind.sum()

    assert recall(marked, [Round(found, int(kind.sum()), len(corner))]) > 0.9
    assert recall(counted, []) < 0.6  # what would happen if they were positives like the first


def test_the_same_marks_and_seed_give_the_same_search_in_every_database(postgres):
    matrix, kind = made_table()
    columns = columns_of(matrix)
    marked = (np.flatnonzero(kind)[:40] + 1).tolist()
    searches = []
    for engine in ENGINES:
        connection = connect(engine, postgres)
        load(connection, engine, "things", columns, "id", list(range(1, N + 1)))
        found = hyperboxes.search(connection, "things", positives=marked)
        searches.append((found.boxes, found.hits, found.sample.keys))
        connection.close()
    assert searches[0] == searches[1] == searches[2]


# -- samples ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 7, 5000])
def test_rows_are_drawn_with_equal_chances(engine, connection, step):
    keys = [step * place for place in range(400)]
    load(connection, engine, "keys", {"a": ("double", [0.0] * 400)}, "id", keys)
    source = open_source(connection, "keys", "id")
    counts = np.zeros(400)
    for seed in range(60):
        drawn = drawn_keys(source, 50, seed)
        assert len(set(drawn)) == 50
        counts[[key // step for key in drawn]] += 1
    expected = 60 * 50 / 400
    assert ((counts - expected) ** 2 / expected).sum() < 490  # chi-square, 399 degrees of freedom
    assert set(drawn_keys(source, 1000, 0)) == set(keys)


def test_text_keys_and_categories(engine, connection):
    rng = np.random.default_rng(3)
    matrix, _ = made_table(n=800)
    colour = rng.choice(["red", "Blue", "it's"], 800).tolist()
    columns = {**columns_of(matrix), "colour": ("text", colour)}
    keys = [f"k{place:03d}é'%" for place in range(800)]
    load(connection, engine, "things", columns, "na'me", keys, "text")
    marked = [key for key, value, cell in zip(keys, colour, columns["c0"][1], strict=True)
              if value == "it's" and cell is not None and cell < 0.5][:40]  # fmt: skip
    found = hyperboxes.search(
        connection, "things", positives=marked, key="na'me", features=["c0", "c2", "colour"], limit=None
    )
    assert {"c0", "colour"} <= {asked.name for asked in found.boxes.conditions(0)}
    whole = {name: columns[name][1] for name in found.boxes.feature_names}
    import pandas as pd

    frame = pd.DataFrame(whole)
    expected = [keys[row] for row in np.flatnonzero(found.boxes.predict(frame))]
    assert sorted(found.hits.key) == sorted(expected)
    if engine != "duckdb":
        assert found.create_indexes().hits == found.hits


# -- plans and advice ------------------------------------------------------------------------------


@pytest.fixture
def large(engine, connection):
    """Give a search in a table that is large enough for an index to matter."""
    rng = np.random.default_rng(5)
    n = 60_000
    matrix = rng.uniform(size=(n, 3)).round(7)
    columns = {name: ("double", column) for name, column in zip("abc", matrix.T.tolist(), strict=True)}
    load_fast(connection, engine, "large", columns, n)
    kind = (np.abs(matrix - [0.35, 0.4, 0.6]) <= [0.03, 0.1, 0.1]).all(axis=1)
    marked = (np.flatnonzero(kind)[:60] + 1).tolist()
    return hyperboxes.search(connection, "large", positives=marked, limit=None)


def load_fast(connection, engine, table, columns, n):
    if engine != "duckdb":
        load(connection, engine, table, columns, "id", list(range(1, n + 1)))
        if engine == "postgres":
            connection.execute(f"VACUUM ANALYZE {table}")
        return
    import pyarrow as pa

    arrays = {
        "id": pa.array(range(1, n + 1)),
        **{name: pa.array(cells) for name, (_, cells) in columns.items()},
    }
    connection.register("drawn_rows", pa.table(arrays))
    connection.execute(f"CREATE TABLE {table} AS SELECT * FROM drawn_rows")
    connection.execute(f"ALTER TABLE {table} ADD PRIMARY KEY (id)")


def test_the_plan_says_whether_an_index_serves_the_search(engine, large, tmp_path):
    before = large.plan()
    assert not before.served
    assert str(before).startswith("No")
    advice = large.advice()
    assert advice
    assert {box for one in advice for box in one.boxes} == set(range(large.boxes.n_boxes))
    after = large.sorted_copy(tmp_path / "it's.parquet") if engine == "duckdb" else large.create_indexes()
    if engine == "postgres":
        large.source.connection.execute("VACUUM ANALYZE large")
    assert after.hits == large.hits
    plan = after.plan()
    assert plan.served or engine == "duckdb"  # few rows are few row groups
    if engine == "duckdb":
        assert plan.row_groups[0] <= plan.row_groups[1]
    else:
        assert all(one.index.name in plan.text for one in advice)
        assert after.create_indexes() is not after  # nothing is made twice


@pytest.mark.parametrize("kind", ["grid", "btree", "brin", "cube", "rtree"])
def test_each_kind_of_index_is_used_by_the_database(engine, large, kind):
    if kind not in KINDS[engine]:
        with pytest.raises(ValueError, match="no index of kind"):
            large.advice(kind)
        return
    if kind == "brin":
        pytest.skip("BRIN serves tables in the order of a column; see below")
    indexed = large.create_indexes(kind)
    if engine == "postgres":
        large.source.connection.execute("VACUUM ANALYZE large")
    plan = indexed.plan()
    assert plan.served, plan.text
    assert indexed.hits == large.hits


def test_brin_is_advised_where_rows_follow_a_column(postgres):
    with contextlib.closing(connect("postgres", postgres)) as connection:
        rng = np.random.default_rng(0)
        n = 200_000
        columns = {
            "t": ("double", np.arange(n, dtype=float).tolist()),
            "v": ("double", rng.uniform(size=n).tolist()),
        }
        load_fast(connection, "postgres", "ordered", columns, n)
        found = hyperboxes.search(
            connection, "ordered", positives="t BETWEEN 50000 AND 54000 AND v <= 0.5", features=["t", "v"]
        )
        [advice] = found.advice()
        assert advice.index.kind == "brin"
        assert advice.index.columns == ("t",)
        indexed = found.create_indexes()
        connection.execute("ANALYZE ordered")
        assert indexed.plan().served, indexed.plan().text
        assert indexed.hits == found.hits


def test_missing_values_lose_no_row_in_a_tree_of_cubes(postgres):
    with contextlib.closing(connect("postgres", postgres)) as connection:
        rng = np.random.default_rng(0)
        X = rng.uniform(size=(20_000, 2))
        X[rng.uniform(size=X.shape) < 0.05] = np.nan
        columns = {name: ("double", cells) for name, cells in zip("ab", X.T.tolist(), strict=True)}
        load_fast(connection, "postgres", "gaps", columns, len(X))
        connection.execute("SET enable_seqscan = off")
        source = open_source(connection, "gaps", "id")
        index = Index("cube", "gaps_cube", (), ("a", "b"))
        source.run(index.statements(source))
        for low in np.linspace(0, 0.9, 10).tolist():
            box = Boxes([[low, 1 - low - 0.1]], [[low + 0.1, 1 - low]], [True], ["a", "b"], default=False)
            hints = index.hints(source, box, 0)
            query = ranked_query(source, box, np.ones(2), "depth", None, lambda _, hints=hints: hints)
            assert "gaps_cube" in explain(source, query).text
            assert {row[0] - 1 for row in source.rows(query)} == set(np.flatnonzero(box.predict(X)).tolist())


def test_advice_leaves_boxes_alone_that_hold_much_of_the_table(connection, engine):
    matrix, _ = made_table()
    load(connection, engine, "things", columns_of(matrix), "id", list(range(1, N + 1)))
    found = hyperboxes.search(connection, "things", positives="c0 >= 0.2", features=["c0"])
    if engine != "duckdb":
        assert found.advice() == []
        assert found.create_indexes().indexes == ()


def test_cells_of_a_grid_are_short_numbers_of_like_many_rows():
    rng = np.random.default_rng(0)
    matrix = rng.lognormal(size=(5000, 1))
    sample = Sample(tuple(range(5000)), Table(matrix, ("a",), {}, frozenset()))
    cuts = grid_cuts(sample, "a")
    counts = np.histogram(matrix[:, 0], [-np.inf, *cuts, np.inf])[0]
    assert len(counts) == 32
    assert counts.min() > 100
    assert all(len(repr(cut)) <= 10 for cut in cuts)


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_are_searched_without_a_connection(ending, tmp_path):
    import pandas as pd

    matrix, kind = made_table()
    path = tmp_path / f"it's a file.{ending}"
    frame = pd.DataFrame(matrix, columns=list("abcde"))
    frame.insert(0, "id", np.arange(N) + 10)
    getattr(frame, f"to_{ending}")(path, index=False)
    marked = (np.flatnonzero(kind)[:40] + 10).tolist()
    found = hyperboxes.search(None, path, positives=marked, key="id", limit=None)
    expected = frame.id[found.boxes.predict(frame)]
    assert sorted(found.hits.key) == expected.tolist()
    copy = found.sorted_copy(tmp_path / "sorted.parquet")
    assert copy.hits == found.hits
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([path.name, "sorted.parquet"])
    if ending == "parquet":
        by_place = hyperboxes.search(
            None, path, positives=[key - 10 for key in marked], features=list("abcde")
        )
        assert by_place.source.key == "file_row_number"
        with pytest.raises(ValueError, match="another order changes"):
            by_place.sorted_copy(tmp_path / "no.parquet")


# -- safety ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [text for text in TEXTS if len(text.encode()) <= 50])
def test_hostile_names_of_tables_keys_and_columns_are_only_names(name, engine, connection):
    rng = np.random.default_rng(0)
    cells = rng.uniform(size=300).tolist()
    key, column = f"{name} key", f"{name} *"
    connection.execute("CREATE TABLE IF NOT EXISTS canary (a INTEGER)")
    load(connection, engine, name, {column: ("double", cells)}, key, list(range(300)))
    marked = [place for place, cell in enumerate(cells) if cell > 0.9]
    found = hyperboxes.search(connection, (name,), positives=marked, limit=None)
    assert [asked.name for asked in found.boxes.conditions(0)] == [column]
    if engine != "duckdb":
        found = found.create_indexes()
        assert find_indexes(found.source) == found.indexes != ()
    expected = np.flatnonzero(found.boxes.predict(np.array(cells).reshape(-1, 1))).tolist()
    assert sorted(found.hits.key) == expected
    assert found.rows(expected[:1])[0][column] == cells[expected[0]]
    connection.execute("SELECT a FROM canary")
    connection.execute(f"DROP TABLE {DIALECTS[engine].identifier(name)}")


def fingerprint(connection, engine):
    query = {
        "duckdb": "SELECT table_name FROM duckdb_tables() ORDER BY 1",
        "sqlite": "SELECT name, sql FROM sqlite_master ORDER BY 1",
        "postgres": "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1",
    }[engine]
    return connection.execute(query).fetchall()


def test_a_search_only_reads_until_indexes_are_asked_for(engine, connection):
    matrix, kind = made_table()
    load(connection, engine, "things", columns_of(matrix), "id", list(range(1, N + 1)))
    if engine == "sqlite":
        connection.commit()
    before = fingerprint(connection, engine)
    if engine == "postgres":
        connection.execute("SET default_transaction_read_only = on")
    if engine == "sqlite":
        connection.execute("PRAGMA query_only = on")
    found = hyperboxes.search(connection, "things", positives=(np.flatnonzero(kind)[:40] + 1).tolist())
    again = found.mark(negatives=[key for key in found.hits.key if not kind[key - 1]][:5])
    again.plan(), again.advice(), again.count(), again.rows(), again.spread(3), again.nearest(3)
    assert fingerprint(connection, engine) == before
    if engine != "duckdb":
        with pytest.raises((sqlite3.OperationalError, Exception), match="read"):
            found.create_indexes()
        assert fingerprint(connection, engine) == before


def test_a_failed_statement_leaves_nothing_behind(engine, connection):
    if engine == "duckdb":
        return
    matrix, kind = made_table()
    load(connection, engine, "things", columns_of(matrix), "id", list(range(1, N + 1)))
    if engine == "sqlite":
        connection.commit()
    found = hyperboxes.search(connection, "things", positives=(np.flatnonzero(kind)[:40] + 1).tolist())
    before = fingerprint(connection, engine)
    with pytest.raises(Exception, match="nowhere"):
        found.source.run(["CREATE TABLE half (a INTEGER)", "INSERT INTO nowhere VALUES (1)"])
    assert fingerprint(connection, engine) == before
    assert found.hits == hyperboxes.search(connection, "things", positives=found.positives).hits


def test_the_transaction_of_the_caller_stays_open(postgres):
    import psycopg

    with psycopg.connect(postgres) as connection:
        matrix, kind = made_table(n=500)
        load(connection, "postgres", "things", columns_of(matrix), "id", list(range(1, 501)))
        found = hyperboxes.search(connection, "things", positives=(np.flatnonzero(kind)[:10] + 1).tolist())
        assert found.count() >= 0
        with pytest.raises(ValueError, match="no_such"):
            hyperboxes.search(connection, "no_such", positives=[1])
        assert connection.execute("SELECT count(*) FROM things").fetchone() == (500,)
        connection.rollback()
        with pytest.raises(psycopg.errors.UndefinedColumn):
            connection.execute("SELECT c0, the_other FROM things")


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"table": "absent"}, "absent"),
        ({"key": "absent"}, "no column 'absent' to be the key"),
        ({"key": "c3"}, "missing in .* rows"),
        ({"key": "twice"}, "does not tell rows apart"),
        ({"positives": []}, "positives is empty"),
        ({"positives": None}, "positives is empty"),
        ({"positives": 5}, "must be keys of rows"),
        ({"positives": [5, 10**9, 10**9 + 1]}, "does not have: id = 1000000000, 1000000001"),
        ({"positives": ["five"]}, "five"),
        ({"positives": "c0 > 7"}, "no row of things fulfils"),
        ({"negatives": [1]}, "marked as positive and as negative"),
        ({"negatives": [-4]}, "negatives names rows"),
        ({"features": ["absent"]}, "no column 'absent'"),
        ({"features": []}, "features is empty"),
        ({"features": "c0"}, "list of column names"),
        ({"max_features": 0}, "max_features must be"),
        ({"limit": 0}, "limit must be"),
        ({"rank": "size"}, "rank must be"),
    ],
    ids=str,
)
def test_what_cannot_be_searched_is_refused_with_a_reason(engine, connection, arguments, message):
    matrix, _ = made_table(n=200)
    columns = {**columns_of(matrix), "twice": ("bigint", [1] * 200)}
    load(connection, engine, "things", columns, "id", list(range(1, 201)))
    asked = {"table": "things", "positives": [1, 2, 3], **arguments}
    with pytest.raises(ValueError, match=message):
        hyperboxes.search(connection, **asked)


def test_connections_that_are_none_are_refused(tmp_path):
    with pytest.raises(TypeError, match="connection is"):
        hyperboxes.search("a string", "t", positives=[1])
    with pytest.raises(ValueError, match="connection is None"):
        hyperboxes.search(None, "t", positives=[1])
    with pytest.raises(ValueError, match="cannot read"):
        hyperboxes.search(None, tmp_path / "absent.parquet", positives=[1])
    with pytest.raises(ValueError, match="neither Parquet nor CSV"):
        hyperboxes.search(None, tmp_path / "table.xlsx", positives=[1])


def test_views_are_searched_by_a_named_key(engine, connection):
    matrix, kind = made_table(n=500)
    load(connection, engine, "base", columns_of(matrix), "id", list(range(1, 501)))
    connection.execute("CREATE VIEW seen AS SELECT * FROM base WHERE id <= 400")
    marked = (np.flatnonzero(kind[:400])[:20] + 1).tolist()
    with pytest.raises(ValueError, match="declares no primary key"):
        hyperboxes.search(connection, "seen", positives=marked)
    found = hyperboxes.search(connection, "seen", positives=marked, key="id")
    assert max(found.hits.key) <= 400
    connection.execute("DROP VIEW seen")


def test_a_note_that_a_stranger_wrote_changes_no_answer(engine, connection):
    if engine == "duckdb":
        return
    matrix, kind = made_table()
    load(connection, engine, "things", columns_of(matrix), "id", list(range(1, N + 1)))
    found = hyperboxes.search(
        connection, "things", positives=(np.flatnonzero(kind)[:40] + 1).tolist(), limit=None
    )
    ranges = tuple(asked.name for asked in found.boxes.conditions(0))[:2]
    lie = Index("grid", "planted", (), ranges, {ranges[0]: (0.4, 0.45)})
    with_other_cuts = Index("grid", "planted", (), ranges, {ranges[0]: (0.1, 0.2, 0.5)})
    if engine == "postgres":
        found.source.run([lie.statements(found.source)[0], with_other_cuts._comment(found.source)])
    else:
        told = lie.statements(found.source)[0].replace(lie._note(), with_other_cuts._note())
        found.source.run([told])
    misled = hyperboxes.search(connection, "things", positives=found.positives, limit=None)
    assert misled.indexes == (with_other_cuts,)
    assert misled.hits == found.hits


def test_numbers_come_as_the_doubles_that_predicates_compare(engine, connection):
    cells = [1, 2**53 + 1, -(2**62) - 1, None]
    load(connection, engine, "wide", {"a": ("bigint", cells)}, "id", [1, 2, 3, 4])
    sample = read_sample(open_source(connection, "wide", "id"), ["a"], (4, 2, 1))
    assert sample.keys == (4, 2, 1)
    assert np.array_equal(sample.table.matrix[:, 0], [np.nan, float(2**53 + 1), 1.0], equal_nan=True)


def test_boxes_of_a_search_are_plain_boxes(served):
    found, matrix, _ = served
    assert isinstance(found.boxes, Boxes)
    assert found.boxes.default is False
    assert set(found.boxes.labels.tolist()) == {True}
    assert "things" in repr(found)
    assert found.depth(matrix).max() <= 1

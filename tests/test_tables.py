"""Laws of reading: what a cell means, and errors that name column and row."""

from __future__ import annotations

import datetime
import decimal
import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from strategies import boxes_and_table, numbers, texts

from hyperboxes import Boxes
from hyperboxes.kernels import blocks
from hyperboxes.tables import as_array, as_frame, check_unique, read_table, to_matrix

NAN, INF = np.nan, np.inf
D = decimal.Decimal

FRAMES = {
    "pandas": pd.DataFrame,
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "pyarrow": pa.table,
}
kinds_of_frame = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)


def cells(X, *names, categories=()):
    """Read for prediction."""
    return to_matrix(X, names, dict(categories)).tolist()


def same(read, expected):
    np.testing.assert_array_equal(np.asarray(read, float), np.asarray(expected, float))


# -- numbers ---------------------------------------------------------------------------------------

NUMERIC_COLUMNS = {
    **{
        f"pandas {name}": (pd.Series([1, 0, 1], dtype=name), [1, 0, 1])
        for name in (
            "int8",
            "int16",
            "int32",
            "int64",
            "uint8",
            "uint16",
            "uint32",
            "uint64",
            "float16",
            "float32",
            "float64",
            "bool",
            "Sparse[float64]",
            "Sparse[int64]",
        )
    },
    **{
        f"pandas {name}": (pd.Series([1, None, 0], dtype=name), [1, NAN, 0])
        for name in (
            "Int8",
            "Int64",
            "UInt64",
            "Float32",
            "Float64",
            "boolean",
            "double[pyarrow]",
            "int64[pyarrow]",
            "bool[pyarrow]",
        )
    },
    "pandas NaN and None": (pd.Series([1.5, NAN, None]), [1.5, NAN, NAN]),
    "pandas objects": (
        pd.Series([1, 2.5, True, None, pd.NA, D("0.1"), np.float32(0.5)], dtype=object),
        [1, 2.5, 1, NAN, NAN, 0.1, 0.5],
    ),
    "pandas decimals": (pd.Series([D("0.1"), None, D("NaN")]), [0.1, NAN, NAN]),
    "pandas arrow decimal": (
        pd.Series([D("0.1"), None], dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
        [0.1, NAN],
    ),
    "pandas category of numbers": (pd.Series([3, 1, None], dtype="category"), [3, 1, NAN]),
    "pandas nothing": (pd.Series([None, None], dtype=object), [NAN, NAN]),
    "pandas text that is all missing": (pd.Series([None, None], dtype="str"), [NAN, NAN]),
    "pandas category that is all missing": (pd.Series([None, None], dtype="category"), [NAN, NAN]),
    **{
        f"polars {dtype}": (pl.Series([1, None, 0]).cast(dtype), [1, NAN, 0])
        for dtype in (
            pl.Int8,
            pl.Int64,
            pl.UInt64,
            pl.Int128,
            pl.Float32,
            pl.Float64,
            pl.Boolean,
        )
    },
    "polars NaN and null": (pl.Series([1.5, NAN, None]), [1.5, NAN, NAN]),
    "polars decimal": (pl.Series([D("0.1"), None]), [0.1, NAN]),
    "polars null": (pl.Series([None, None]), [NAN, NAN]),
    **{
        f"pyarrow {dtype}": (pa.array([1, None, 0]).cast(dtype), [1, NAN, 0])
        for dtype in (
            pa.int8(),
            pa.int64(),
            pa.uint64(),
            pa.float32(),
            pa.float64(),
            pa.bool_(),
            pa.decimal128(30, 2),
        )
    },
    "pyarrow half float": (pa.array(np.array([1, 0], np.float16)), [1, 0]),
    "pyarrow null": (pa.nulls(2), [NAN, NAN]),
    "pyarrow dictionary of numbers": (pa.array([3, 1, None]).dictionary_encode(), [3, 1, NAN]),
}


def frame_of(column, name="a"):
    if isinstance(column, pl.Series):
        return pl.DataFrame({name: column})
    return pa.table({name: column}) if isinstance(column, pa.Array) else pd.DataFrame({name: column})


@pytest.mark.parametrize(("column", "expected"), NUMERIC_COLUMNS.values(), ids=NUMERIC_COLUMNS)
def test_every_kind_of_number_is_read_as_float64(column, expected):
    frame = frame_of(column)
    same(cells(frame, "a"), np.reshape(expected, (-1, 1)))
    table = read_table(frame, categorical_features=None)
    same(table.matrix, np.reshape(expected, (-1, 1)))
    assert table.matrix.dtype == np.float64
    assert (table.feature_names, table.categories, table.ordered) == (("a",), {}, frozenset())


@pytest.mark.parametrize("dtype", ["b", "B", "i4", "u8", "f2", "f4", "f8", ">f8", "g", "?", "O"])
def test_every_kind_of_array_is_read_as_float64(dtype):
    X = np.array([[1, 0], [0, 1]]).astype(dtype)
    table = read_table(X)
    same(table.matrix, [[1, 0], [0, 1]])
    assert table.matrix.dtype == np.float64
    assert table.feature_names == ("x0", "x1")
    same(to_matrix(X, ("x0", "x1"), {}), [[1, 0], [0, 1]])


def test_rows_of_python_values_are_a_table():
    same(cells([[1, None], [2.5, D("0.5")]], "a", "b"), [[1, NAN], [2.5, 0.5]])
    same(cells(((1, "u"), (2, "v")), "a", "c", categories={"c": ("v", "u")}), [[1, 1], [2, 0]])


def test_a_masked_cell_is_missing():
    X = np.ma.masked_array([[1, 2], [3, 4]], [[False, True], [False, False]])
    for masked in (X, X.astype(float), X.astype(object)):
        same(cells(masked, "a", "b"), [[1, NAN], [3, 4]])
        same(read_table(masked).matrix, [[1, NAN], [3, 4]])


def test_numbers_too_large_for_float64_round_to_infinity():
    with pytest.warns(UserWarning, match="column 'a' holds integers beyond"):
        read = cells(np.array([[10**400], [-(10**400)], [D("1e400")]], object), "a")
    same(read, [[INF], [-INF], [INF]])


@given(st.lists(st.none() | numbers, max_size=5))
def test_every_kind_of_frame_reads_the_same_cells(values):
    expected = np.array([NAN if value is None else value for value in values], float).reshape(-1, 1)
    for frame in (
        pd.DataFrame({"a": pd.Series(values, dtype="Float64")}),
        pd.DataFrame({"a": pd.Series(values, dtype=object)}),
        pl.DataFrame({"a": pl.Series(values, dtype=pl.Float64)}),
        pa.table({"a": pa.array(values, pa.float64())}),
    ):
        same(to_matrix(frame, ("a",), {}), expected)


# -- refusals --------------------------------------------------------------------------------------

DAY = datetime.datetime(2020, 1, 1)
REFUSED = {
    "text": (pd.Series(["u", None]), ValueError, "column 'a' holds text"),
    "text as objects": (pd.Series(["u", None], dtype=object), ValueError, "column 'a' holds text"),
    "arrow text": (pd.Series(["u", None], dtype="string[pyarrow]"), ValueError, "column 'a' holds text"),
    "numeric text": (
        pd.Series(["1", "2"]),
        ValueError,
        "column 'a' holds text.*convert them to a numeric dtype",
    ),
    "category of text": (pd.Series(["u", "v"], dtype="category"), ValueError, "column 'a' holds text"),
    "text among numbers": (
        pd.Series([1, "u"], dtype=object),
        ValueError,
        r"column 'a' holds text.*row 1: 'u'",
    ),
    "bytes": (pd.Series([b"1", b"2"]), ValueError, r"column 'a' holds text \(bytes\)"),
    "datetime": (pd.Series([DAY]), TypeError, "column 'a' has dtype Datetime"),
    "datetime with zone": (
        pd.Series([DAY]).dt.tz_localize("UTC"),
        TypeError,
        "column 'a' has dtype Datetime",
    ),
    "timedelta": (pd.Series([DAY - DAY]), TypeError, "column 'a' has dtype Duration"),
    "period": (
        pd.Series(pd.period_range("2020", periods=2, freq="M")),
        TypeError,
        "column 'a', row 0 holds Period",
    ),
    "date objects": (pd.Series([DAY.date()]), TypeError, "column 'a', row 0 holds"),
    "list": (pd.Series([[1]]), TypeError, r"column 'a', row 0 holds \[1\]"),
    "complex": (pd.Series([1j]), TypeError, "column 'a', row 0 holds 1j"),
    "interval": (pd.Series(pd.cut([1.0, 2.0], 2)), TypeError, "column 'a'"),
    "polars text": (pl.Series(["u"]), ValueError, "column 'a' holds text"),
    "polars categorical": (pl.Series(["u"], dtype=pl.Categorical), ValueError, "column 'a' holds text"),
    "polars date": (pl.Series([DAY.date()]), TypeError, "column 'a' has dtype Date"),
    "polars time": (pl.Series([DAY.time()]), TypeError, "column 'a' has dtype Time"),
    "polars list": (pl.Series([[1]]), TypeError, "column 'a' has dtype List"),
    "polars struct": (pl.Series([{"b": 1}]), TypeError, "column 'a' has dtype Struct"),
    "polars array": (
        pl.Series([[1, 2]], dtype=pl.Array(pl.Int64, 2)),
        TypeError,
        "column 'a' has dtype Array",
    ),
    "polars binary": (pl.Series([b"1"]), TypeError, "column 'a' has dtype Binary"),
    "polars objects": (pl.Series([object()], dtype=pl.Object), TypeError, "column 'a', row 0 holds"),
    "pyarrow text": (pa.array(["1"]), ValueError, "column 'a' holds text"),
    "pyarrow dictionary": (pa.array(["u"]).dictionary_encode(), ValueError, "column 'a' holds text"),
    "pyarrow timestamp": (pa.array([DAY]), TypeError, "column 'a' has dtype Datetime"),
    "pyarrow binary": (pa.array([b"1"]), TypeError, "column 'a' has dtype Binary"),
}


@pytest.mark.parametrize(("column", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_a_number_is_refused_with_its_column(column, error, message):
    frame = frame_of(column)
    for read in (lambda: cells(frame, "a"), lambda: read_table(frame, categorical_features=None)):
        with pytest.raises(error, match=message):
            read()


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.array([["1", "2"]]), ValueError, "column 'x0' holds text.*row 0: '1'"),
        (np.array([[b"1", b"2"]]), ValueError, r"column 'x0' holds text \(bytes\)"),
        (np.array([["1"]], dtype=np.dtypes.StringDType()), ValueError, "column 'x0' holds text"),
        (np.array([[1, "u"]], object), ValueError, "column 'x1' holds text"),
        ([[1, "u"]], ValueError, "column 'x1' holds text.*row 0: 'u'"),
        ([["1"], ["2"]], ValueError, "column 'x0' holds text"),
        (np.array([[1, {}]], object), TypeError, "column 'x1', row 0 holds {}: argument must be"),
        (np.array([[1j]]), ValueError, "Complex data not supported"),
        (
            np.array([["2020-01-01"]], "M8[D]"),
            TypeError,
            r"X has dtype datetime64\[D\], which is not numeric",
        ),
        (np.array(3.0), ValueError, "Expected 2D array, got 0D array.*Reshape your data"),
        (np.array([1.0, 2.0]), ValueError, "Expected 2D array, got 1D array.*Reshape your data"),
        ([1.0, 2.0], ValueError, "Expected 2D array, got 1D array"),
        (np.zeros((1, 1, 1)), ValueError, "Expected 2D array, got 3D array"),
        (pd.Series([1.0]), ValueError, "Expected 2D array, got 1D array"),
        ([[1, 2], [3]], ValueError, "rows must all have the same length"),
        (scipy.sparse.csr_matrix(np.eye(2)), TypeError, r"sparse data was passed.*X\.toarray\(\)"),
        (scipy.sparse.csc_array(np.eye(2)), TypeError, "sparse data was passed"),
        (pl.LazyFrame({"a": [1]}), TypeError, "lazy frame: collect it first"),
    ],
)
def test_what_is_no_table_is_refused(X, error, message):
    with pytest.raises(error, match=message):
        read_table(X)
    width = (
        len(X[0]) if isinstance(X, list) and isinstance(X[0], list) else np.shape(X)[-1] if np.ndim(X) else 1
    )
    with pytest.raises(error, match=message):
        to_matrix(X, [f"x{j}" for j in range(width)], {})


def test_a_frame_of_several_blocks_is_read_whole(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 7 * 24)
    cells = np.arange(300.0).reshape(100, 3)
    np.testing.assert_array_equal(read_table(pd.DataFrame(cells, columns=list("abc"))).matrix, cells)


def test_infinity_is_named_with_column_and_row():
    X = np.zeros((5, 3))
    X[3, 1], X[4, 1], X[0, 0] = -INF, INF, NAN
    with pytest.raises(ValueError, match=r"infinity: column 'x1', row 3 \(2 in all\)"):
        read_table(X)
    with pytest.raises(ValueError, match=r"infinity: column 'b', row 1 "):
        read_table(pd.DataFrame({"a": [1e308, 1e308], "b": [0, INF]}))
    same(cells(pd.DataFrame({"b": [0, INF]}), "b"), [[0], [INF]])


def test_a_sum_that_overflows_is_no_infinity():
    assert read_table(np.full((4, 1), 1.7e308)).matrix.max() == 1.7e308


@pytest.mark.parametrize(
    "X",
    [
        np.array([[0, 2**53 + 1]]),
        np.array([[0, -(2**53) - 1]]),
        np.array([[0, 2**64 - 1]], np.uint64),
        np.array([[0, 2**70]], object),
        pd.DataFrame({"x0": [0], "x1": [2**53 + 1]}),
        pd.DataFrame({"x0": [0], "x1": pd.array([2**53 + 1], dtype="Int64")}),
        pl.DataFrame({"x0": [0], "x1": pl.Series([2**70], dtype=pl.Int128)}),
        pa.table({"x0": [0], "x1": [2**53 + 1]}),
    ],
    ids=lambda X: type(X).__module__.split(".")[0],
)
def test_integers_that_float64_cannot_tell_apart_are_warned_of(X):
    for read in (lambda: read_table(X), lambda: to_matrix(X, ("x0", "x1"), {})):
        with pytest.warns(UserWarning, match="column 'x1' holds integers beyond 2"):
            read()


def test_integers_up_to_two_to_the_53_are_exact():
    for column in ([2**53, -(2**53)], pd.array([2**53, None], dtype="Int64")):
        frame = pd.DataFrame({"a": column})
        assert read_table(frame).matrix[0, 0] == 2**53


# -- names -----------------------------------------------------------------------------------------


@kinds_of_frame
def test_columns_are_found_by_name_whatever_their_order(make):
    frame = make({"b": [1.0, 2.0], "extra": ["u", "v"], "a": [3.0, 4.0]})
    same(cells(frame, "a", "b"), [[3, 1], [4, 2]])
    with pytest.raises(
        ValueError, match=r"columns \['q', 'r'\] are missing; there are \['b', 'extra', 'a'\]"
    ):
        cells(frame, "q", "a", "r")
    assert read_table(make({"b": [1.0], "a": [3.0]})).feature_names == ("b", "a")
    assert to_matrix(frame, (), {}).shape == (2, 0)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]),
        pa.table([[1], [2], [3]], names=["a", "b", "a"]),
        pd.DataFrame([[1, 2, 3]], columns=["0", "b", 0]),
    ],
    ids=["pandas", "pyarrow", "equal as text"],
)
def test_duplicate_names_are_refused_by_name(frame):
    twice = "0" if 0 in list(getattr(frame, "columns", [])) else "a"
    for read in (lambda: read_table(frame), lambda: cells(frame, "b")):
        with pytest.raises(ValueError, match=rf"duplicate column names \['{twice}'\]"):
            read()


def test_check_unique_names_every_duplicate():
    check_unique(["a", "A", "b"])
    with pytest.raises(ValueError, match=r"\['a', 'b'\]"):
        check_unique(["b", "a", "c", "b", "a"])


def test_names_that_are_not_text_count_as_their_text():
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=[7, 5])
    assert read_table(frame).feature_names == ("7", "5")
    same(cells(frame, "5", "7"), [[2, 1], [4, 3]])
    nested = pd.DataFrame([[1.0, 2.0]], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]))
    same(cells(nested, *read_table(nested).feature_names), [[1, 2]])


def test_a_numeric_array_is_passed_through():
    X = np.zeros((3, 2), np.float32)
    assert to_matrix(X, ("a", "b"), {}) is X
    with pytest.raises(ValueError, match="X has 2 columns; these boxes speak of 3 features"):
        to_matrix(X, ("a", "b", "c"), {})


# -- categories ------------------------------------------------------------------------------------

CATEGORICAL = {
    "pandas": (pd.Series(["v", "u", None], dtype="category"), ("u", "v"), False, [1, 0, NAN]),
    "pandas declared": (
        pd.Series(pd.Categorical(["v", "u"], categories=["w", "v", "u"])),
        ("w", "v", "u"),
        False,
        [1, 2],
    ),
    "pandas ordered": (
        pd.Series(pd.Categorical(["lo", "hi", None], categories=["lo", "hi"], ordered=True)),
        ("lo", "hi"),
        True,
        [0, 1, NAN],
    ),
    "pandas numbers": (pd.Series([30, 10, None], dtype="category"), (10, 30), False, [1, 0, NAN]),
    "pandas booleans": (pd.Series([True, False], dtype="category"), (False, True), False, [1, 0]),
    "pandas arrow dictionary": (
        pd.Series(["v", "u", None], dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
        ("u", "v"),
        False,
        [1, 0, NAN],
    ),
    "polars categorical": (pl.Series(["v", "u", None], dtype=pl.Categorical), ("u", "v"), False, [1, 0, NAN]),
    "polars enum": (
        pl.Series(["v", "u", None], dtype=pl.Enum(["v", "z", "u"])),
        ("v", "z", "u"),
        True,
        [0, 2, NAN],
    ),
    "pyarrow dictionary": (pa.array(["v", "u", None]).dictionary_encode(), ("u", "v"), False, [1, 0, NAN]),
    "pyarrow numbers": (pa.array([30, 10, None]).dictionary_encode(), (10, 30), False, [1, 0, NAN]),
    "pyarrow ordered": (
        pa.DictionaryArray.from_arrays(pa.array([1, 0, None]), pa.array(["lo", "hi"]), ordered=True),
        ("lo", "hi"),
        True,
        [1, 0, NAN],
    ),
}


@pytest.mark.parametrize(("column", "known", "ordered", "places"), CATEGORICAL.values(), ids=CATEGORICAL)
def test_declared_categories_are_read_with_their_order(column, known, ordered, places):
    frame = frame_of(column)
    table = read_table(frame)
    assert table.categories == {"a": known}
    assert [type(value) for value in table.categories["a"]] == [type(value) for value in known]
    assert table.ordered == ({"a"} if ordered else frozenset())
    same(table.matrix, np.reshape(places, (-1, 1)))
    same(cells(frame, "a", categories=table.categories), np.reshape(places, (-1, 1)))
    values = [NAN if np.isnan(place) else known[int(place)] for place in places]
    assert table.matrix[0, 0] == known.index(values[0])


def test_declared_categories_do_not_depend_on_what_was_read_before():
    pl.Series(["z", "y", "x", "w"], dtype=pl.Categorical)
    frame = pl.DataFrame({"a": pl.Series(["y", "x", "w"], dtype=pl.Categorical)}).filter(pl.col("a") != "w")
    assert read_table(frame).categories == {"a": ("x", "y")}


@kinds_of_frame
def test_chosen_columns_are_categorical(make):
    frame = make({"a": ["v", "u", None], "b": [3, 1, 3], "c": [0.5, 1.5, 2.5]})
    for chosen in (["a", "b"], [0, 1], [0, -2], np.array([0, 1])):
        table = read_table(frame, categorical_features=chosen)
        assert table.categories == {"a": ("u", "v"), "b": (1, 3)}
        same(table.matrix, [[1, 1, 0.5], [0, 0, 1.5], [NAN, 1, 2.5]])
        assert table.ordered == frozenset()


def test_chosen_columns_of_an_array_are_categorical():
    X = np.array([[30.0, 1.0], [10.0, 2.0], [NAN, 3.0]])
    table = read_table(X, categorical_features=[0])
    assert table.categories == {"x0": (10.0, 30.0)}
    same(table.matrix, [[1, 1], [0, 2], [NAN, 3]])
    same(to_matrix(X, table.feature_names, table.categories, positions=False), table.matrix)
    whole = np.array([[30, 1], [10, 2]])
    known = read_table(whole, [0]).categories
    same(to_matrix(whole, ("x0", "x1"), known, positions=False), [[1, 1], [0, 2]])
    same(to_matrix(table.matrix, table.feature_names, table.categories), table.matrix)


@pytest.mark.parametrize("chosen", ["a", ["q"], [3], [-4], [True, False, False], [1.5], [None]])
def test_choosing_a_column_that_is_not_there_is_refused(chosen):
    with pytest.raises(ValueError, match="categorical_features"):
        read_table(pd.DataFrame({"a": [1], "b": [2], "c": [3]}), categorical_features=chosen)


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        ([1, "u"], TypeError, "column 'a' mixes text and numbers"),
        ([DAY, DAY], TypeError, "column 'a' has categories of type"),
        ([[1], [2]], TypeError, "column 'a' cannot be categorical: unhashable"),
        ([1.0, INF], ValueError, "column 'a' has the category inf"),
    ],
)
def test_values_that_cannot_be_categories_are_refused_with_their_column(column, error, message):
    frame = pd.DataFrame({"a": pd.Series(column, dtype=object)})
    with pytest.raises(error, match=message):
        read_table(frame, categorical_features=["a"])
    if not isinstance(column[0], list):
        with pytest.raises(error, match=message):
            read_table(
                pd.DataFrame(
                    {
                        "a": pd.Categorical(
                            column, categories=column[:2] if column[0] != column[1] else column[:1]
                        )
                    }
                )
            )
    else:
        with pytest.raises(error, match=message):
            cells(frame, "a", categories={"a": ("u",)})


@kinds_of_frame
def test_an_unknown_category_is_minus_one_and_a_missing_one_nan(make):
    frame = make({"a": ["u", "?", None]})
    same(cells(frame, "a", categories={"a": ("v", "u")}), [[1], [-1], [NAN]])
    same(
        cells(frame_of(pd.Series(["u", "?", None], dtype="category")), "a", categories={"a": ("v", "u")}),
        [[1], [-1], [NAN]],
    )


def test_categories_are_found_by_value_whatever_the_dtype():
    for column in ([3, 1, None], [3.0, 1.0, None]):
        frame = pd.DataFrame({"a": pd.Series(column, dtype=object)})
        same(cells(frame, "a", categories={"a": (1, 3)}), [[1], [0], [NAN]])
    objects = np.array([[np.str_("u")], [np.int64(3)]], object)
    same(cells(objects, "a", categories={"a": (3, "u")}), [[1], [0]])


@given(st.lists(st.none() | texts, min_size=1, max_size=6))
def test_places_name_the_values_they_came_from(values):
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    table = read_table(frame, categorical_features=["a"])
    known = table.categories.get("a", ())
    assert [None if np.isnan(place) else known[int(place)] for place in table.matrix[:, 0]] == values
    for other in (frame.astype({"a": "category"}), pl.DataFrame({"a": values}, schema={"a": pl.String})):
        same(to_matrix(other, ("a",), {"a": known}) if known else table.matrix, table.matrix)


@given(boxes_and_table(uncovered=("default",), counts=False))
def test_boxes_answer_frames_as_they_answer_arrays(case):
    made, X = case
    X = np.asarray(X, np.float64)
    columns = {}
    for column, name in enumerate(made.feature_names):
        if name in made.categories:
            known = made.categories[name]
            columns[name] = pd.Series(
                [
                    None if np.isnan(p) else known[int(p)] if p in range(len(known)) else "unknown!"
                    for p in X[:, column]
                ],
                dtype=object,
            )
        else:
            columns[name] = pd.Series(X[:, column])
    frame = pd.DataFrame(columns, index=range(len(X)))
    assert made.predict(frame).tolist() == made.predict(X).tolist()
    backwards = frame[frame.columns[::-1]]
    assert made.predict(backwards).tolist() == made.predict(X).tolist()


# -- layout and cost -------------------------------------------------------------------------------

LAYOUTS = {
    "column-major": np.asfortranarray,
    "reversed rows": lambda X: np.ascontiguousarray(X[::-1])[::-1],
    "reversed columns": lambda X: np.ascontiguousarray(X[:, ::-1])[:, ::-1],
    "slices": lambda X: np.repeat(X, 3, axis=1)[:, ::3],
    "pandas": lambda X: pd.DataFrame(X, columns=["x0", "x1", "x2"]),
    "polars": lambda X: pl.DataFrame(X, schema=["x0", "x1", "x2"]),
    "pyarrow": lambda X: pa.table({f"x{j}": X[:, j] for j in range(3)}),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_the_same_cells_give_the_same_table(layout):
    X = np.random.default_rng(0).random((20, 3))
    table, other = read_table(X), read_table(layout(X))
    same(other.matrix, table.matrix)
    assert other[1:] == table[1:]
    made = Boxes([[0.2, -INF, 0.1]], [[0.9, 0.8, INF]], ["in"], default="out")
    np.testing.assert_array_equal(made.predict(layout(X)), made.predict(X))


def test_a_read_only_file_is_read_and_left_alone(tmp_path):
    X = np.random.default_rng(0).random((20, 3)).astype(np.float32)
    X.tofile(tmp_path / "X")
    before = (tmp_path / "X").read_bytes()
    mapped = np.memmap(tmp_path / "X", np.float32, "r", shape=X.shape)
    same(read_table(mapped).matrix, X)
    made = Boxes([[0.2, -INF, 0.1]], [[0.9, 0.8, INF]], ["in"], default="out")
    np.testing.assert_array_equal(made.predict(mapped), made.predict(X))
    assert (tmp_path / "X").read_bytes() == before


def test_reading_does_not_change_the_input():
    frame = pd.DataFrame(
        {
            "a": [1.0, NAN],
            "b": pd.array([1, None], dtype="Int64"),
            "c": pd.Categorical(["u", None]),
            "d": [True, False],
        }
    )
    before = frame.copy(deep=True)
    table = read_table(frame)
    table.matrix[:] = 7
    to_matrix(frame, table.feature_names, table.categories)[:] = 7
    pd.testing.assert_frame_equal(frame, before)
    polars = pl.DataFrame({"a": [1.0, None], "b": [1, 2]})
    read_table(polars).matrix[:] = 7
    assert polars.equals(pl.DataFrame({"a": [1.0, None], "b": [1, 2]}))


def test_wide_frames_cost_in_proportion_to_their_width():
    def seconds(width):
        frame = pl.DataFrame({f"c{j}": [1.0] for j in range(width)})
        names = tuple(frame.columns)
        best = INF
        for _ in range(3):
            start = time.perf_counter()
            to_matrix(frame, names, {})
            best = min(best, time.perf_counter() - start)
        return best

    seconds(10)
    # Quadratic work would take up to 144 times as long, and noise may double a measurement.
    assert seconds(6000) < 2.5 * 12 * seconds(500)


def test_arrays_do_not_wake_the_frame_library():
    assert as_frame(np.zeros((1, 1))) is None
    assert as_frame([[1]]) is None
    assert as_array([[1]]).tolist() == [[1]]


def test_reading_sets_no_warning_filter():
    before = list(warnings.filters)
    read_table(pd.DataFrame({"a": [1, 2]}))
    assert list(warnings.filters) == before

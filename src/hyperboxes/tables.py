"""Tables in: frames and arrays become one numeric matrix, with errors that name column and row."""

from __future__ import annotations

import decimal
import math
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Category = int | float | str | bool
#: float64 holds every integer up to here; beyond, neighbours become one number.
LARGEST_EXACT_INTEGER = 2**53


class Table(NamedTuple):
    """A table as learners see it: numbers only, NaN where a value is missing.

    A categorical column holds positions in ``categories``; ``ordered`` names those whose order means
    something. Where None is the last of the categories, its position is a missing value as well as NaN is.
    """

    matrix: NDArray[np.float64]
    feature_names: tuple[str, ...]
    categories: dict[str, tuple[Category | None, ...]]
    ordered: frozenset[str]


def with_missing(table: Table, own: Collection[str]) -> Table:
    """Let the categories of a column say so where values are missing.

    In the columns ``own`` a missing value becomes a category as others are; elsewhere it stays NaN.
    """
    matrix, categories = table.matrix, dict(table.categories)
    for name, known in table.categories.items():
        column = table.feature_names.index(name)
        missing = np.isnan(matrix[:, column])
        if not missing.any():
            continue
        categories[name] = united([known, [None]])
        if name in own:
            matrix = matrix.copy() if matrix is table.matrix else matrix
            matrix[missing, column] = len(categories[name]) - 1
    return table._replace(matrix=matrix, categories=categories)


def united(lists: Iterable[Sequence[Category | None]]) -> tuple[Category | None, ...]:
    """Unite lists of categories in the order of their coming, None last."""
    values = dict.fromkeys(value for categories in lists for value in categories)
    return (*(value for value in values if value is not None), *([None] if None in values else []))


def check_unique(names: Sequence[str]) -> None:
    """Raise if a name occurs twice."""
    if len(set(names)) != len(names):
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        raise ValueError(f"duplicate column names {twice}: rename them, so that each rule means one column")


def as_frame(X: object) -> Any:
    """Wrap a data frame (pandas, polars, Arrow, …) in narwhals; None for anything else."""
    if isinstance(X, np.ndarray | list | tuple):
        return None
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    try:
        frame: Any = nw.from_native(X, pass_through=True)
    except DuplicateError:
        check_unique([str(name) for name in getattr(X, "column_names", None) or X.columns])  # type: ignore[attr-defined]
        raise
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("X is a lazy frame: collect it first, so that its rows are read once")
    return frame if isinstance(frame, nw.DataFrame) else None


def to_matrix(
    X: ArrayLike,
    feature_names: Sequence[str],
    categories: Mapping[str, Sequence[Category | None]],
    *,
    positions: bool = True,
) -> NDArray[Any]:
    """Read the given features from a frame or an array, for prediction.

    Unknown categories become -1, missing values NaN, or the position of None where that is a known category.
    A numeric array is passed through, without a copy if no such is missing: its categorical columns hold
    positions, unless ``positions`` is false and they hold the categories themselves. Infinite values are
    kept: they compare as IEEE 754 says.
    """
    positions = positions or not categories
    if (
        isinstance(X, np.ndarray)
        and X.dtype.kind == "f"
        and X.ndim == 2
        and X.shape[1] == len(feature_names)
        and positions
        and not isinstance(X, np.ma.MaskedArray)
    ):
        return _at_position_of_none(X, feature_names, categories) if categories else X
    frame = as_frame(X)
    if frame is None:
        array = as_array(X)
        if array.shape[1] != len(feature_names):
            raise ValueError(
                f"X has {array.shape[1]} columns; these boxes speak of {len(feature_names)} features"
            )
        if array.dtype != object and positions:
            _warn_large_integers(array, feature_names)
            return _at_position_of_none(array, feature_names, categories)
        n_rows, columns = len(array), iter(array.T)
    else:
        n_rows, columns = len(frame), iter(_columns(frame, feature_names))
    # Column by column: filling a row-major matrix would walk through all of it for each column.
    matrix = np.empty((n_rows, len(feature_names)), order="F")
    for place, (name, column) in enumerate(zip(feature_names, columns, strict=True)):
        known = categories.get(name)
        matrix[:, place] = _numbers(column, name) if known is None else _places(column, known, name)
    return matrix


def _at_position_of_none(
    matrix: NDArray[Any], feature_names: Sequence[str], categories: Mapping[str, Sequence[Category | None]]
) -> NDArray[Any]:
    """Put missing values where None is a known category, in a copy if there are any."""
    read = matrix
    for name, known in categories.items():
        column = feature_names.index(name)
        if known[-1] is None and np.isnan(matrix[:, column]).any():
            read = matrix.copy() if read is matrix else read
            read[np.isnan(read[:, column]), column] = len(known) - 1
    return read


def _columns(frame: Any, feature_names: Sequence[str]) -> Iterable[Any]:
    """Find the columns of a frame by name; a name that is not text counts as its text."""
    present = {str(name): name for name in frame.columns}
    if len(present) != len(frame.columns):
        check_unique([str(name) for name in frame.columns])
    absent = [name for name in feature_names if name not in present]
    if absent:
        raise ValueError(f"the columns {absent} are missing; there are {list(present)}")
    return (frame.get_column(present[name]) for name in feature_names)


def read_table(
    X: ArrayLike, categorical_features: Literal["from_dtype"] | Sequence[str | int] | None = "from_dtype"
) -> Table:
    """Read a whole table for learning and find its categories.

    Raises
    ------
    ValueError, TypeError
        Naming the column, what it holds and what to do, if a column cannot be used.
    """
    frame = as_frame(X)
    columns: list[Any]
    if frame is None:
        array = as_array(X)
        names = tuple(f"x{j}" for j in range(array.shape[1]))
        columns = list(array.T)
    else:
        names = tuple(str(name) for name in frame.columns)
        columns = list(_columns(frame, names))
    chosen = _chosen_categorical(categorical_features, names)
    categories: dict[str, tuple[Category | None, ...]] = {}
    ordered = set()
    if frame is None and array.dtype != object and not chosen:
        matrix = np.asarray(array, dtype=np.float64)
        _warn_large_integers(array, names)
    else:
        read = []
        for name, column in zip(names, columns, strict=True):
            known, has_order = None, False
            if categorical_features is not None:
                known, has_order = _categories_of_dtype(column, name)
            if name in chosen and not known:
                known = _distinct(_values(column), name)
            if known:
                categories[name] = known
                read.append(_places(column, known, name))
                if has_order:
                    ordered.add(name)
                continue
            read.append(_numbers(column, name))
        matrix = np.empty((len(frame if frame is not None else array), len(read)))
        _write_columns(read, matrix)
    _refuse_infinite(matrix, names)
    return Table(matrix, names, categories, frozenset(ordered))


def _write_columns(columns: Sequence[NDArray[np.float64]], matrix: NDArray[np.float64]) -> None:
    """Write columns side by side into a row-major matrix, block by block: a block stays in the cache."""
    from .kernels._threads import run
    from .kernels.blocks import row_blocks

    def write(rows: slice) -> None:
        for place, column in enumerate(columns):
            matrix[rows, place] = column[rows]

    run(write, row_blocks(matrix))


def as_array(X: ArrayLike) -> NDArray[Any]:
    """Make a two-dimensional array of numbers or objects; refuse what cannot become one."""
    if hasattr(X, "tocsr") or hasattr(X, "todense"):
        raise TypeError("sparse data was passed, but dense data is required: densify it with X.toarray()")
    if isinstance(X, np.ma.MaskedArray):
        numeric = X.dtype.kind in "biuf"
        missing = np.ma.getmaskarray(X)
        X = X.data.astype(np.float64 if numeric else object)
        X[missing] = np.nan if numeric else None
    try:
        array = np.asarray(X)
        if not isinstance(X, np.ndarray) and array.dtype.kind in "US":
            array = np.asarray(X, dtype=object)  # rows of numbers and text: the numbers stay numbers
    except ValueError as error:
        raise ValueError(f"X is not a table: its rows must all have the same length ({error})") from None
    if array.ndim != 2:
        advice = "X.reshape(-1, 1) if it is one feature, X.reshape(1, -1) if it is one row"
        raise ValueError(f"Expected 2D array, got {array.ndim}D array instead. Reshape your data: {advice}")
    if array.dtype.kind == "c":
        raise ValueError(
            "Complex data not supported: give real columns, for instance X.real and X.imag side by side"
        )
    if array.dtype.kind in "UST":
        return array.astype(object)
    if array.dtype.kind not in "biufO":
        raise TypeError(f"X has dtype {array.dtype}, which is not numeric; convert it to numbers first")
    return array


def _chosen_categorical(asked: object, names: tuple[str, ...]) -> set[str]:
    if asked is None or (isinstance(asked, str) and asked == "from_dtype"):
        return set()
    if isinstance(asked, str):
        raise ValueError(
            f"categorical_features must be 'from_dtype', None, or a list of columns, got {asked!r}"
        )
    chosen = set()
    for column in asked:  # type: ignore[attr-defined]
        name = column
        if isinstance(column, int | np.integer) and not isinstance(column, bool):
            name = names[column] if -len(names) <= column < len(names) else None
        if not isinstance(name, str) or name not in names:
            raise ValueError(
                f"categorical_features names {column!r}; give names or positions of the columns {list(names)}"
            )
        chosen.add(name)
    return chosen


def _categories_of_dtype(column: Any, name: str) -> tuple[tuple[Category, ...] | None, bool]:
    """Find the categories that a frame's column declares, and whether they are ordered."""
    if not hasattr(column, "to_native"):
        return None, False
    import narwhals.stable.v2 as nw

    if column.dtype not in (nw.Categorical, nw.Enum):
        return None, False
    native = column.to_native()
    if hasattr(getattr(native, "dtype", None), "ordered"):  # pandas
        declared, has_order = native.dtype.categories.tolist(), bool(native.dtype.ordered)
    else:
        has_order = column.dtype == nw.Enum or getattr(getattr(native, "type", None), "ordered", False)
        # Undeclared ones are listed as they came along, other columns' among them: sort those that occur.
        declared = (
            column.cat.get_categories().to_list() if has_order else sorted(set(_values(column)) - {None})
        )
    return _check_categories(declared, name), has_order


def _values(column: Any) -> list[Any]:
    """Python values of a column, None where one is missing."""
    items = column.to_list() if hasattr(column, "to_list") else column.tolist()
    items = [item.item() if isinstance(item, np.generic) else item for item in items]
    return [None if _is_missing(item) else item for item in items]


def _is_missing(item: object) -> bool:
    if item is None:
        return True
    if isinstance(item, float):
        return math.isnan(item)
    return type(item).__name__ in ("NAType", "NaTType")


def _distinct(values: list[Any], name: str) -> tuple[Category, ...]:
    try:
        found = set(values) - {None}
    except TypeError as error:
        raise TypeError(f"column {name!r} cannot be categorical: {error}") from None
    return tuple(sorted(_check_categories(list(found), name)))


def _check_categories(values: list[Any], name: str) -> tuple[Category, ...]:
    """Refuse values that no rule could name, and text among numbers."""
    for item in values:
        if not isinstance(item, int | float | str):
            raise TypeError(
                f"column {name!r} has categories of type {type(item).__name__}; "
                "make them text, numbers or booleans"
            )
        if item in (math.inf, -math.inf):
            raise ValueError(f"column {name!r} has the category {item}; make it text or a finite number")
    if len({isinstance(item, str) for item in values}) > 1:
        raise TypeError(f"column {name!r} mixes text and numbers; make it one of them")
    return tuple(values)


def _places(column: Any, known: Sequence[Category | None], name: str) -> NDArray[np.float64]:
    """Find a column's values among the known categories; -1 unknown, NaN missing unless None is known."""
    place: dict[Any, float] = {None: math.nan, **{value: float(index) for index, value in enumerate(known)}}
    native = column.to_native() if hasattr(column, "to_native") else column
    if hasattr(getattr(native, "dtype", None), "ordered"):  # pandas: look up each category once
        declared = [place.get(value, -1.0) for value in native.dtype.categories.tolist()]
        return np.asarray(np.array([*declared, place[None]])[native.cat.codes.to_numpy()])  # code -1: missing
    values = _values(column)
    try:
        return np.fromiter((place.get(value, -1.0) for value in values), dtype=np.float64, count=len(values))
    except TypeError as error:
        raise TypeError(f"column {name!r} cannot be categorical: {error}") from None


def _numbers(column: Any, name: str) -> NDArray[np.float64]:
    """Read a column as float64, NaN where a value is missing; refuse what is not a number."""
    if isinstance(column, np.ndarray):
        if column.dtype != object:
            _warn_large_integers(column, [name])
            return column.astype(np.float64)
        return _numbers_from_objects(_values(column), name)
    import narwhals.stable.v2 as nw

    dtype = column.dtype
    if dtype in (nw.Decimal, nw.Int128, nw.UInt128, nw.Categorical, nw.Enum):
        return _numbers_from_objects(_values(column), name)
    if dtype.is_float():
        numbers = np.asarray(column.to_numpy())  # floats have a NaN of their own for what is missing
        if numbers.dtype.kind == "f":
            return numbers.astype(np.float64)
    if dtype.is_numeric() or dtype == nw.Boolean:
        missing = column.is_null().to_numpy().astype(bool)
        filled = column.fill_null(False if dtype == nw.Boolean else 0) if missing.any() else column
        numbers = np.asarray(filled.to_numpy())
        _warn_large_integers(numbers, [name])
        numbers = numbers.astype(np.float64)
        numbers[missing] = np.nan
        return numbers
    if dtype in (nw.Object, nw.Unknown):
        native = np.asarray(column.to_native())
        if native.dtype.kind in "biuf":
            _warn_large_integers(native, [name])
            return native.astype(np.float64)
        return _numbers_from_objects(_values(column), name)
    if dtype == nw.String:
        if column.is_null().all():
            return np.full(len(column), np.nan)
        raise ValueError(_advice_for_text(name, str(dtype)))
    if dtype in (nw.Datetime, nw.Date, nw.Duration, nw.Time):
        raise TypeError(
            f"column {name!r} has dtype {dtype}: turn it into a number first, for instance days since a date"
        )
    raise TypeError(f"column {name!r} has dtype {dtype}, which is not numeric: convert or drop it")


def _advice_for_text(name: str, dtype: str) -> str:
    return (
        f"column {name!r} holds text ({dtype}): if these are categories, convert the column to a categorical "
        "dtype or list it in categorical_features; if they are numbers, convert them to a numeric dtype"
    )


def _numbers_from_objects(values: list[Any], name: str) -> NDArray[np.float64]:
    numbers = np.full(len(values), np.nan)
    largest = 0
    for row, item in enumerate(values):
        if item is None:
            continue
        if isinstance(item, str | bytes):
            raise ValueError(f"{_advice_for_text(name, type(item).__name__)} (row {row}: {item!r:.60})")
        if not isinstance(item, int | float | np.floating | decimal.Decimal):
            raise TypeError(
                f"column {name!r}, row {row} holds {item!r:.60}: argument must be a string or a number, "
                f"not {type(item).__name__!r}; convert the column to numbers or drop it"
            )
        if isinstance(item, int):
            largest = max(largest, abs(item))
        if isinstance(item, decimal.Decimal) and item.is_nan():
            continue
        try:
            numbers[row] = float(item)
        except OverflowError:  # an integer of more than 308 digits rounds as any other number would
            numbers[row] = math.inf if item > 0 else -math.inf
    if largest > LARGEST_EXACT_INTEGER:
        _warn_rounded(name)
    return numbers


def _warn_large_integers(array: NDArray[Any], names: Sequence[str]) -> None:
    """Warn of the first column, of those named, that holds integers float64 cannot tell apart."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or not array.size:
        return
    if int(array.max()) > LARGEST_EXACT_INTEGER or int(array.min()) < -LARGEST_EXACT_INTEGER:
        columns = array.reshape(len(array), -1).T
        large = ((columns > LARGEST_EXACT_INTEGER) | (columns < -LARGEST_EXACT_INTEGER)).any(axis=1)
        _warn_rounded(names[int(np.argmax(large))])


def _warn_rounded(name: str) -> None:
    warnings.warn(
        f"column {name!r} holds integers beyond 2**53, which float64 rounds: neighbours may become one value",
        UserWarning,
        stacklevel=2,
    )


def _refuse_infinite(matrix: NDArray[np.float64], names: Sequence[str]) -> None:
    # One sum tells whether there is anything to look for; overflow only costs the closer look.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(matrix.sum()):
            return
    for column, name in enumerate(names):
        bad = np.flatnonzero(np.isinf(matrix[:, column]))
        if len(bad):
            raise ValueError(
                f"Input X contains infinity: column {name!r}, row {bad[0]} ({len(bad)} in all). "
                "Replace it by a finite number, or by NaN if the value is unknown"
            )

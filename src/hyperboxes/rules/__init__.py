"""Rules: boxes written for people, for tables, for Python and for data frames.

Whatever form they take, they give the answer of ``Boxes.predict``, and numbers are those of the model to the
last digit.
"""

from ._data import to_dict, to_frame, to_json
from ._expressions import to_narwhals, to_polars
from ._pandas import to_pandas_query
from ._python import to_python
from ._text import to_markdown, to_text

__all__ = [
    "to_dict",
    "to_frame",
    "to_json",
    "to_markdown",
    "to_narwhals",
    "to_pandas_query",
    "to_polars",
    "to_python",
    "to_text",
]

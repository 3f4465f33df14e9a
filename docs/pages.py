"""Run the blocks of a page of the documentation, and collect what they print.

Python blocks share one namespace, in order. A text block shows what the blocks since the last one printed.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parent
#: Pages whose blocks are run.
PAGES = (DOCS / "tutorial.md", *sorted((DOCS / "howto").glob("*.md")))
BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


#: The page whose blocks speak to a server, as ``dsn``.
NEEDS_POSTGRES = "postgresql"


def run_page(
    page: Path, run_command: Callable[[str], object], **given: object
) -> Iterator[tuple[re.Match[str], str]]:
    """Run a page in the current directory; give each text block and what should stand in it.

    ``run_command`` runs a line of a shell block; ``given`` are names that the page takes for granted.
    """
    namespace: dict[str, object] = {"__name__": "__main__", **given}
    printed = io.StringIO()
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        kind, source = block.groups()
        if kind == "text":
            yield block, _trimmed(printed.getvalue())
            printed = io.StringIO()
        elif kind == "sh":
            for line in source.splitlines():
                run_command(line)
        else:
            with contextlib.redirect_stdout(printed):
                exec(compile(source, str(page), "exec"), namespace)  # noqa: S102 (a page of our own)


def _trimmed(text: str) -> str:
    return "".join(line.rstrip() + "\n" for line in text.strip("\n").splitlines())

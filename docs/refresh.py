"""Put what the demo and the pages print today into README and pages: python docs/refresh.py [page …]."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pages import NEEDS_POSTGRES, PAGES, run_page

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from postgres import cluster  # noqa: E402 (the private server of the tests)

#: What the text blocks of the README show, in order, as parts of the demo's output.
SHOWN = (
    r"^ +rows +precision +recall\n(?:.*\n)+?ELSE (?!IF).*\n",
    r"^Read back .*\nDuckDB.*\n",
    r"^  \d+ box.*\n(?:  decision tree.*\n)+",
)


def main() -> None:
    """Refresh the named pages, or README and all pages."""
    asked = sys.argv[1:]
    if not asked:
        refresh_readme()
    for page in PAGES:
        if not asked or page.stem in asked:
            refresh_page(page)


def refresh_page(page: Path) -> None:
    """Run a page in an empty directory and put what it prints into its text blocks."""

    def run_command(line: str) -> None:
        arguments = shlex.split(line, comments=True)
        program = ["-c", f"from hyperboxes.cli import app; app({arguments[1:]!r})"]
        subprocess.run([sys.executable, *program], check=True, capture_output=True)  # noqa: S603

    text = page.read_text(encoding="utf-8")
    with contextlib.ExitStack() as stack:
        given = {"dsn": stack.enter_context(cluster())} if page.stem == NEEDS_POSTGRES else {}
        stack.enter_context(contextlib.chdir(stack.enter_context(tempfile.TemporaryDirectory())))
        found = list(run_page(page, run_command, **given))
    for block, printed in reversed(found):
        text = f"{text[: block.start(2)]}{printed}{text[block.end(2) :]}"
    page.write_text(text, encoding="utf-8")
    print(f"refreshed {page.relative_to(ROOT)}")


def refresh_readme() -> None:
    """Run the demo, replace the text blocks and the picture."""
    demo = [sys.executable, "-c", "from hyperboxes.cli import app; app(['demo'])"]
    printed = subprocess.run(demo, cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout  # noqa: S603
    parts = []
    for pattern in SHOWN:
        found = re.search(pattern, printed, flags=re.MULTILINE)
        if found is None:
            raise SystemExit(f"the demo prints nothing like {pattern}")
        parts.append(found[0])
    readme = ROOT / "README.md"
    blocks = iter(parts)
    text = re.sub(
        r"^```text\n.*?^```",
        lambda _: f"```text\n{next(blocks)}```",
        readme.read_text(encoding="utf-8"),
        flags=re.DOTALL | re.MULTILINE,
    )
    readme.write_text(text, encoding="utf-8")
    picture = ROOT / "docs" / "images" / "figure1.png"
    picture.parent.mkdir(exist_ok=True)
    shutil.copyfile(ROOT / "demo" / "figure1.png", picture)
    print(f"refreshed {readme.name} and {picture.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

"""Put what the demo prints and draws today into the README: python docs/refresh.py."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What the text blocks of the README show, in order, as parts of the demo's output.
SHOWN = (
    r"^ +rows +precision +recall\n(?:.*\n)+?ELSE (?!IF).*\n",
    r"^Read back .*\nDuckDB.*\n",
    r"^  \d+ box.*\n(?:  decision tree.*\n)+",
)


def main() -> None:
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

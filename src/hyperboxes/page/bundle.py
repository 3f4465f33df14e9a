"""One file out of many: scripts, style and data put into the template of the page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib import resources
from typing import Any

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z0-9_]+\.js)";$', re.M)
_EXPORT = re.compile(r"^export ((?:async )?function|class|const) (\w+)", re.M)
#: Signs that could end a script element, start a comment, or end a line inside a string of old parsers.
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&'\u2028\u2029"}


def to_html(payload: dict[str, Any]) -> str:
    """Put a payload into the page; nothing of it is ever read as markup or as code."""
    data = json.dumps(payload, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)
    parts = _parts() | {"data": data}
    # One pass: what is put in is never searched for marks.
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], _source("template.html"))


@cache
def _parts() -> dict[str, str]:
    script, style = script_text(), _source("style.css")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return {"script": script, "style": style, "policy": policy}


def script_text(start: str = "main.js") -> str:
    """Join the modules that ``start`` needs into one script, each in its own scope, needed ones first."""
    joined: dict[str, str] = {}

    def add(name: str) -> None:
        if name in joined:
            return
        text = _source(name)
        for found in _IMPORT.finditer(text):
            add(found[2])
        joined[name] = _enclose(name, text)

    add(start)
    return '"use strict";\nconst modules = {};\n' + "\n".join(joined.values())


def _enclose(name: str, text: str) -> str:
    body = _IMPORT.sub(lambda found: f'const {{{found[1]}}} = modules["{found[2]}"];', text)
    names = [found[2] for found in _EXPORT.finditer(body)]
    body = _EXPORT.sub(r"\1 \2", body)
    left = re.search(r"^(import|export)\b.*", body, re.M)
    if left:
        raise ValueError(f"{name}: write {left[0]!r} as a named import on one line, or a plain export")
    return f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {", ".join(names)} }};\n}})();'


def _source(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

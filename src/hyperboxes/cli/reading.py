"""Commands that tell what a model is: rules, inspect."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..console import counted, one_line, print_rules, print_text
from ._app import command
from ._files import judge, read_model, same_label
from ._options import AsJson, Model, OptionalTable, OptionalTarget

if TYPE_CHECKING:
    from ..boxes import Boxes
    from ..summary import Summary


class Form(StrEnum):
    """The forms of rules, as a choice on the command line."""

    text = "text"
    markdown = "markdown"
    json = "json"
    csv = "csv"
    python = "python"
    pandas = "pandas"


@command
def rules(
    model: Model,
    file: OptionalTable = None,
    target: OptionalTarget = None,
    form: Annotated[
        Form, typer.Option("--as", help="Form of the rules; python and pandas are source code.")
    ] = Form.text,
    markdown: Annotated[bool, typer.Option("--markdown", help="The same as --as markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --as json.")] = False,
    label: Annotated[
        str | None, typer.Option(help="Class that a pandas query selects.", show_default=False)
    ] = None,
) -> None:
    """Print a model as IF … THEN … ELSE, with its figures.

    The figures are those of the training rows, or of a table that you give.

    \b
    hyperboxes rules iris.boxes.json
    hyperboxes rules iris.boxes.json new.csv --target species
    hyperboxes rules iris.boxes.json --as python > iris_rules.py
    hyperboxes rules iris.boxes.json --as pandas --label setosa
    """  # noqa: D301
    boxes = read_model(model)
    if (file is None) != (target is None):
        raise ValueError("give both a table and --target to judge the rules on it, or neither")
    summary = None if file is None or target is None else judge(boxes, file, target)
    chosen = "json" if as_json else "markdown" if markdown else form.value
    if chosen != "text":
        print_text(_other_form(chosen, boxes, summary, label))
        return
    from ..rules import to_text

    print_rules(to_text(boxes, summary))
    if summary is not None:
        print_text(f"\n{summary}")


def _other_form(form: str, boxes: Boxes, summary: Summary | None, label: str | None) -> str:
    from .. import rules

    if form == "markdown":
        return rules.to_markdown(boxes, summary)
    if form == "json":
        return rules.to_json(boxes, summary)
    if form == "python":
        return rules.to_python(boxes).rstrip("\n")
    if form == "csv":
        text: str = rules.to_frame(boxes, summary).to_csv(index=False, lineterminator="\n")
        return text.rstrip("\n")
    if label is None:
        return rules.to_pandas_query(boxes)
    return rules.to_pandas_query(boxes, same_label(label, boxes.classes, "--label"))


@command
def inspect(model: Model, as_json: AsJson = False) -> None:
    """Tell what is in a model file: origin, features, classes, size.

    \b
    hyperboxes inspect ill.boxes.json
    hyperboxes inspect ill.boxes.json --json | jq .features
    """  # noqa: D301
    from ..model_file import read_meta

    boxes = read_model(model)
    told = _contents(boxes, {} if model == "-" else read_meta(model))
    if as_json:
        print_text(json.dumps(told))
        return
    print_text(_contents_text(model, told))


def _contents(boxes: Boxes, meta: dict[str, Any]) -> dict[str, Any]:
    used = boxes.restricted.sum(axis=0).tolist()
    features = [
        {
            "name": name,
            "kind": "number" if name not in boxes.categories else "category",
            **({"categories": list(boxes.categories[name])} if name in boxes.categories else {}),
            "boxes": count,
        }
        for name, count in zip(boxes.feature_names, used, strict=True)
    ]
    labels = boxes.labels.tolist()
    return {
        "made_by": meta,
        "boxes": boxes.n_boxes,
        "conditions": boxes.n_conditions,
        "classes": [{"label": label, "boxes": labels.count(label)} for label in boxes.classes.tolist()],
        "default": boxes.default,
        "uncovered": boxes.uncovered,
        "training_rows": None if boxes.counts is None else float(boxes.counts.sum()),
        "features": features,
    }


def _contents_text(model: str, told: dict[str, Any]) -> str:
    from ..conditions import format_name
    from ..summary import format_label

    meta, features = told["made_by"], told["features"]
    origin = [f"hyperboxes {meta['hyperboxes']}"] if "hyperboxes" in meta else []
    origin += [str(meta["estimator"])] if "estimator" in meta else []
    classes = ", ".join(
        f"{format_label(item['label'])} ({counted(item['boxes'], 'box', 'boxes')})"
        for item in told["classes"]
    )
    default = format_label(told["default"])
    nearest = told["uncovered"] == "nearest"
    used = [item for item in features if item["boxes"]]
    idle = len(features) - len(used)
    lines = [
        ("file", model),
        ("made by", ", ".join(origin) or "unknown"),
        ("boxes", f"{told['boxes']} with {counted(told['conditions'], 'condition', 'conditions')}"),
        ("classes", classes),
        (
            "in no box",
            f"class of the nearest box; if none can be compared, {default}" if nearest else default,
        ),
        (
            "training rows",
            "not recorded" if told["training_rows"] is None else f"{told['training_rows']:.10g}",
        ),
        ("features", f"{len(features)}, of which rules mention {len(used)}"),
    ]
    text = [f"{title:<15}{one_line(value)}" for title, value in lines]
    of_all = f"of {counted(told['boxes'], 'box', 'boxes')}"
    for item in sorted(used, key=lambda item: -item["boxes"]):
        kind = item["kind"] if item["kind"] == "number" else f"{len(item['categories'])} categories"
        text.append(f"{'':<15}{format_name(item['name'])} ({kind}): in {item['boxes']} {of_all}")
    if idle:
        text.append(f"{'':<15}{counted(idle, 'other is', 'others are')} not mentioned")
    return "\n".join(text)

"""Sketch: boxes as rules and a small picture, for notebooks; drawn from the bounds alone, without data."""

from __future__ import annotations

import html
import math

import numpy as np

from .boxes import Boxes, Label
from .conditions import format_name, format_number
from .summary import format_category, format_label

#: Colours of Okabe and Ito, which stay apart for colour-blind readers.
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
#: A notebook may be dark, so that their black is a grey here.
COLOURS = (*OKABE_ITO, "#777777")
#: Features and boxes beyond these are left out of the picture, not of the rules.
MAX_FEATURES, MAX_BOXES = 12, 20
WIDTH, NAME_WIDTH, ROW, GAP, FONT = 720, 190, 14, 12, 11
#: Room for an open side, as a share of the range of the bounds.
MARGIN = 0.35


def to_html(boxes: Boxes) -> str:
    """Write the rules as a table, and each box as bars, one for each feature that it restricts.

    Examples
    --------
    >>> from hyperboxes import Boxes
    >>> from hyperboxes.sketch import to_html
    >>> boxes = Boxes.from_rules([({"age": (65, None)}, "high")], default="low")
    >>> "<svg" in to_html(boxes) and "age" in to_html(boxes)
    True
    """
    return f'<div style="overflow-x:auto">{boxes._repr_html_()}{_picture(boxes)}</div>'


def _picture(boxes: Boxes) -> str:
    shown = boxes.restricted[:MAX_BOXES]
    used = np.argsort(-shown.sum(axis=0), kind="stable")[:MAX_FEATURES]
    used = used[shown[:, used].any(axis=0)]
    if not len(used):
        return ""
    colours = {
        label: COLOURS[k % len(COLOURS)] for k, label in enumerate(dict.fromkeys(boxes.labels.tolist()))
    }
    parts, top = [_legend(colours)], ROW + GAP
    for feature in used.tolist():
        owners = np.flatnonzero(shown[:, feature]).tolist()
        name = html.escape(_short(format_name(boxes.feature_names[feature])))
        parts.append(_text(0, top + ROW - 3, name, weight="600"))
        for lane, box in enumerate(owners):
            colour = colours[boxes.labels.tolist()[box]]
            parts.append(_lane(boxes, box, feature, top + lane * ROW, colour))
        top += len(owners) * ROW + GAP
    note = _left_out(boxes, len(used))
    if note:
        parts.append(_text(0, top + FONT, html.escape(note)))
        top += ROW + GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top}" viewBox="0 0 {WIDTH} {top}" '
        f'role="img" aria-label="What each box admits, feature by feature" '
        f'style="font:{FONT}px system-ui,sans-serif">{"".join(parts)}</svg>'
    )


def _left_out(boxes: Boxes, n_shown: int) -> str:
    more = [
        (boxes.n_boxes - MAX_BOXES, "boxes"),
        (int(boxes.restricted[:MAX_BOXES].any(axis=0).sum()) - n_shown, "features"),
    ]
    told = " and ".join(f"{count} more {what}" for count, what in more if count > 0)
    return f"{told} not drawn" if told else ""


def _legend(colours: dict[Label, str]) -> str:
    parts, x = [], 0.0
    for label, colour in colours.items():
        text = _short(format_label(label))
        parts.append(f'<circle cx="{x + 5:.0f}" cy="{ROW / 2}" r="4" fill="{colour}"/>')
        parts.append(_text(x + 14, ROW - 3, html.escape(text)))
        x += 14 + 6.5 * len(text) + 16
        if x > WIDTH - 80:
            break
    return "".join(parts)


def _lane(boxes: Boxes, box: int, feature: int, y: float, colour: str) -> str:
    """Draw what one box admits of one feature; a side without an end mark is open."""
    left, right = NAME_WIDTH + 26, WIDTH - 60
    number = _text(NAME_WIDTH + 16, y + ROW - 3, str(box), anchor="end")
    name = boxes.feature_names[feature]
    if name in boxes.categories:
        flags = boxes.allowed[name][box]
        step = (right - left) / len(flags)
        cells = "".join(
            f'<rect x="{left + place * step + 1:.1f}" y="{y + 3}" '
            f'width="{max(1.0, step - 2):.1f}" height="{ROW - 6}" '
            f'fill="{colour if yes else "#888888"}" fill-opacity="{0.6 if yes else 0.15}">'
            f"<title>{html.escape(format_category(boxes.categories[name][place]))}</title></rect>"
            for place, yes in enumerate(flags.tolist())
        )
        return number + cells
    low, high = float(boxes.lower[box, feature]), float(boxes.upper[box, feature])
    if math.isnan(low):
        return number + _text(left, y + ROW - 3, "missing")
    first, last = _range(boxes, feature)

    def at(value: float) -> float:
        # Halves, so that the difference of two large numbers of opposite sign does not overflow.
        share = (value / 2 - first / 2) / (last / 2 - first / 2)
        return left + min(1.0, max(0.0, share)) * (right - left)

    begin = at(low) if math.isfinite(low) else float(left)
    end = at(high) if math.isfinite(high) else float(right)
    parts = [
        number,
        f'<rect x="{begin:.1f}" y="{y + 4}" width="{max(1.5, end - begin):.1f}" height="{ROW - 8}" '
        f'fill="{colour}" fill-opacity="0.4"/>',
    ]
    for x, value, anchor, shift in ((begin, low, "end", -4), (end, high, "start", 4)):
        if math.isfinite(value):
            parts.append(
                f'<path d="M{x:.1f} {y + 1.5}V{y + ROW - 1.5}" stroke="{colour}" stroke-width="2.5"/>'
            )
            parts.append(_text(x + shift, y + ROW - 3, format_number(value), anchor=anchor))
    return "".join(parts)


def _range(boxes: Boxes, feature: int) -> tuple[float, float]:
    """Range of the bounds on a feature, with room for open sides."""
    bounds = np.concatenate([boxes.lower[:, feature], boxes.upper[:, feature]])
    bounds = bounds[np.isfinite(bounds)]
    low, high = float(bounds.min()), float(bounds.max())
    room = min(MARGIN * (high / 2 - low / 2) * 2 or MARGIN * max(1.0, abs(high)), 1e307)
    return max(low - room, -1.7e308), min(high + room, 1.7e308)


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "400") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" '
        f'fill="currentColor">{text}</text>'
    )


def _short(text: str, most: int = 26) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"

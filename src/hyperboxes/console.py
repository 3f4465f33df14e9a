"""The terminal: colours and progress where there is one, plain text where there is not."""

from __future__ import annotations

import contextlib
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator

#: What a person waits for without asking, in seconds.
PATIENCE = 1.0
#: Words that begin a line of a decision list.
_WORDS = re.compile(r"^(ELSE IF|IF|    AND|THEN|ELSE|ALWAYS)(?= )")
_FIGURES = re.compile(r"(?:  +(?:–|[\d.e+]+)){3}$")


def print_text(text: str) -> None:
    """Print to standard output, whatever the locale."""
    sys.stdout.write(text + "\n")


def print_rules(text: str) -> None:
    """Print a decision list: in colour on a terminal, as it is elsewhere."""
    if not sys.stdout.isatty():
        print_text(text)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for line in text.split("\n"):
        # Text, not markup: nothing that stands in a name is ever taken for a command.
        shown = Text(line)
        if word := _WORDS.match(line):
            shown.stylize("bold cyan", *word.span())
            if word[0] in ("THEN", "ELSE"):
                shown.stylize("bold", word.end())
            if figures := _FIGURES.search(line):
                shown.stylize("not bold green", *figures.span())
        else:
            shown.stylize("dim")
        console.print(shown, soft_wrap=True)


def say(text: str) -> None:
    """Tell a person something beside the result, on standard error."""
    sys.stderr.write(text + "\n")


class Clock:
    """How long some work has taken, and how long it will still take if it goes on as it did."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self._told = (0.0, 0.0)

    def tell(self, share: float) -> None:
        """Take note of the share of the work that is done."""
        self._told = (share, time.monotonic() - self.begin)

    def __str__(self) -> str:
        now = time.monotonic() - self.begin
        share, then = self._told
        if not share > 0:
            return f"{now:.0f} s"
        left = then / share - now
        return f"{now:.0f} s, " + (f"about {left:.0f} s left" if left >= 1 else "almost done")


@contextlib.contextmanager
def waiting(what: str) -> Iterator[Callable[[float], None]]:
    """Show on a terminal, once it takes more than a second, what is being done and for how long.

    Gives a function that takes the share of the work that is done; with it, the time left is shown too.
    """
    clock = Clock()
    if not sys.stderr.isatty():
        yield clock.tell
        return
    done = threading.Event()

    def tick() -> None:
        while not done.wait(PATIENCE):
            sys.stderr.write(f"\r\x1b[K{what} … {clock}")
            sys.stderr.flush()

    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    try:
        yield clock.tell
    finally:
        done.set()
        ticker.join()
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def counted(number: int, one: str, many: str) -> str:
    """Write a number of things."""
    return f"{number} {one if number == 1 else many}"


def one_line(message: object) -> str:
    """Keep a message, which may quote a stranger's file, from more than one line and from commands."""
    words = " ".join(str(message).split())
    return "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in words)

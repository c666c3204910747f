"""What each of the eight adversaries knows, and what it tries."""

from modicum.reporting.charts import BLUE, DARK, GREEN, RED, SOFT, WIDTH, line
from pictures.shapes import PALE, RULE, Parts, box, card, lines, words

ROLES = ("job", "hours", "age", "sex", "race")  # the attributes of a strip; the last three are personal


def adversaries() -> str:
    """Draw what each of the eight adversaries sees, and what it tries."""
    parts = [words(30, 36, "sees of each person", bold=True), words(330, 36, "tries", bold=True),
             words(625, 36, "is compared with", bold=True)]  # fmt: skip
    parts += [words(x + 19, 62, name, SOFT, "middle", 12) for name, x in zip(ROLES, _places(), strict=True)]
    for i, (name, title, draw, tries, baseline) in enumerate(ADVERSARIES):
        y = 76 + i * 66
        band = (BLUE, GREEN, RED)[0 if i < 6 else i - 5]
        parts += [box(12, y - 2, 6, 58, band), words(30, y + 33, name, band, bold=True, size=17), *draw(y + 8)]
        parts += [words(330, y + 20, title, DARK, bold=True, size=14), *lines(330, y + 39, [tries], SOFT, 13)]
        parts += lines(625, y + 20, baseline, SOFT, 13)
    y = 76 + 8 * 66 + 16
    parts.append(line(20, y - 12, WIDTH - 20, y - 12, RULE, 1.5))
    for x, fill, edge, label in ((30, PALE, "none", "its bucket"), (150, BLUE, "none", "the exact value as well"),
                                 (365, PALE, RED, "guessed")):  # fmt: skip
        parts += [box(x, y, 22, 22, fill, edge, 2.5), words(x + 30, y + 16, label, SOFT, size=14)]
    for x, fill, label in ((500, BLUE, "inference"), (610, GREEN, "linkability"), (730, RED, "singling out")):
        parts += [box(x, y, 6, 22, fill), words(x + 13, y + 16, label, SOFT, size=14)]
    parts.append(
        words(30, y + 48, "All know the buckets, and have full records of other people to learn from.", DARK, size=14)
    )
    return card(
        parts, y + 66, "Eight adversaries: what each sees of a person, what it tries and what it is compared with"
    )


def _places() -> list[float]:
    return [78 + 46 * i for i in range(5)]


def _strip(y: float, exact: str = "", guessed: str = "", h: float = 38, fill: str = PALE) -> Parts:
    """Draw one person's record: exact values dark, buckets pale, guessed values with a question mark."""
    parts = []
    for name, x in zip(ROLES, _places(), strict=True):
        is_guessed = name in guessed.split()
        parts.append(box(x, y, 38, h, BLUE if name in exact.split() else fill, RED if is_guessed else "none", 2.5))
        if is_guessed:
            parts.append(
                words(x + 19, y + h / 2 + (6 if h > 20 else 5), "?", RED, "middle", 17 if h > 20 else 13, True)
            )
    return parts


PERSONAL = "age sex race"


def _surest(y: float) -> Parts:
    x = _places()[3]
    return [*_strip(y), box(x, y, 38, 38, PALE, RED, 2.5), words(x + 19, y + 25, "!", RED, "middle", 18, True)]


def _halves(y: float) -> Parts:
    left, right = _places()[0], _places()[2] + 24
    rows = [
        part for r in (0, 1) for part in (box(left, y + 22 * r, 84, 17, BLUE), box(right, y + 22 * r, 106, 17, BLUE))
    ]
    joins = [line(left + 86, y + 8 + 22 * a, right - 2, y + 8 + 22 * b, RED, 2) for a, b in ((0, 1), (1, 0))]
    return [*rows, *joins]


def _alone(y: float) -> Parts:
    same = [part for r in (0, 1) for part in _strip(y + 13 * r, h=10)]
    return [*same, *_strip(y + 28, h=10, fill="#f6c4bf"), box(_places()[0] - 4, y + 25, 230, 16, "none", RED, 2)]


ADVERSARIES = (
    ("A1", "Reconstruction", lambda y: _strip(y, guessed=PERSONAL), "guesses every personal value",
     ("the most frequent value;", "raw data: always right")),
    ("A2", "High-certainty reconstruction", _surest, "guesses only where most certain",
     ("the most frequent value,", "about the same people")),
    ("A3", "Non-personal knowledge", lambda y: _strip(y, "job hours", PERSONAL), "guesses every personal value",
     ("the most frequent value;", "raw data: always right")),
    ("A4", "Leave-one-out", lambda y: _strip(y, "job hours age sex", "race"), "guesses one value from all others",
     ("the most frequent value;", "raw data: always right")),
    ("A5", "Partial personal knowledge", lambda y: _strip(y, "job hours age", "sex"), "guesses one after another",
     ("the most frequent value;", "raw data: always right")),
    ("A6", "Multi-breach", lambda y: [*_strip(y, h=16), *_strip(y + 22, guessed=PERSONAL, h=16, fill="#c8dcd0")],
     "guesses from several collections", ("each of the breaches alone;", "the most frequent value")),
    ("A7", "Linkability", _halves, "joins halves of the same person", ("joining at random;", "a breach of raw data")),
    ("A8", "Singling out", _alone, "looks for who is alone", ("nothing collected: nobody;", "raw data")),
)  # fmt: skip

"""Random artifacts of every kind, with tables to test them on in each engine."""

import datetime as dt

import numpy as np
import pandas as pd

import modicum as md
from modicum.generalization.bins import Dropped, FullDetail, Group, Groups, Interval, Intervals
from modicum.table.frames import as_frame
from modicum.table.values import canonical, iso

HOSTILE = [
    "O'Brien",
    'say "so"',
    "back\\slash",
    "end\\",
    "\\'",
    "\\n",
    "-- gone",
    "; DROP TABLE people;",
    "</script><script>alert(1)</script>",
    "😀",
    "\u202eright to left\u202c",
    "two\nlines",
    "car\rriage\r\nreturn",
    "tab\there",
    "{{ 1 / 0 }}",
    "{% raw %}",
    "{#",
    "}}{",
    "100%",
    "%s %(x)s",
    "$1 $$ $tag$",
    "/* no */",
    "`tick`",
    "?",
    ":name",
    "é",
    "e\u0301\u0323",
    "\u1e69",
    "(other)",
    "(missing)",
    "NULL",
    "true",
    "1.50",
    "0x10",
    "'quoted'",
    "[1, 2]",
    " ",
    "",
    "\x01\x1f\x7f\u2028",
]
TYPES = {"integer": "BIGINT", "float": "DOUBLE PRECISION", "boolean": "BOOLEAN", "text": "TEXT", "date": "DATE"}
TYPES["datetime"] = "TIMESTAMP"


def random_artifact(seed: int, names: list[str]) -> tuple[md.Generalization, pd.DataFrame]:
    """A generalization with one attribute per name, of all kinds in turn, and 300 records for it."""
    random = np.random.default_rng(seed)
    kinds = list(_MAKERS)
    random.shuffle(kinds)
    pairs = [_MAKERS[kinds[j % len(kinds)]](name, random) for j, name in enumerate(names)]
    g = md.Generalization(md.Schema(attributes=tuple(p.attribute for p, _ in pairs)), [p for p, _ in pairs])
    columns = {p.name: _draw(values, random, 300) for p, values in pairs}
    return g, pd.DataFrame(columns, dtype=object)


def expected(g: md.Generalization, X: pd.DataFrame, output: str = "labels") -> dict[str, list[object]]:
    """Python's output for each record, one column per needed attribute; None if the artifact refuses the value."""
    return {name: _expected(g[name], X[name], output) for name in g.needed}


def _expected(partition, values, output):
    if isinstance(partition, FullDetail):
        missing = values.isna()
        return [
            None if is_missing and partition.missing == "refuse" else v
            for v, is_missing in zip(values, missing, strict=True)
        ]
    lenient = partition.model_copy(update={"missing": "separate", "unseen": "separate"})
    lenient = type(partition)(**{name: getattr(lenient, name) for name in type(partition).model_fields})
    codes = lenient.encode(as_frame(pd.DataFrame({partition.name: values}))[partition.name])
    own = {code: code for code in range(partition.n_buckets)}
    own |= {lenient.missing_code: partition.missing_code}
    if isinstance(partition, Groups):
        own |= {lenient.unseen_code: partition.unseen_code}
    outputs = partition.labels if output == "labels" else range(len(partition.labels))
    return [None if own[int(code)] < 0 else outputs[own[int(code)]] for code in codes]


def same(left: object, right: object) -> bool:
    """Whether an engine's answer equals Python's; NaN equals NaN, and null equals null."""
    if isinstance(left, float) and isinstance(right, float) and left != left:
        return right != right
    return (left is None and pd.isna(right)) or left == right


def create_table(name: str, g: md.Generalization, quote) -> str:
    """The statement that creates the table: the record's number, then each attribute in the type of its storage."""
    columns = ", ".join(f"{quote(p.name)} {TYPES[p.attribute.storage]}" for p in g.partitions)
    return f"CREATE TABLE {name} ({quote('record no')} BIGINT, {columns})"


def rows(X: pd.DataFrame) -> list[tuple[object, ...]]:
    return [(i, *record) for i, record in enumerate(X.itertuples(index=False, name=None))]


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _draw(values, random, n):
    chosen = [values[i] for i in random.integers(0, len(values), n)]
    return [None if random.random() < 0.15 else value for value in chosen]


def _policy(random, buckets, what):
    """A random policy: refuse, a separate bucket, or a bucket that takes them."""
    which = random.integers(3)
    if which == 2:
        i = int(random.integers(len(buckets)))
        buckets[i] = buckets[i].model_copy(update={"takes": (*buckets[i].takes, what)})
    return "refuse" if which == 0 else "separate"


def _intervals(attribute, edges, random):
    buckets = [Interval(up_to=edge) for edge in edges] + [Interval()]
    policy = _policy(random, buckets, "missing")
    return Intervals(attribute=attribute, buckets=tuple(buckets), missing=policy)


def _integers(name, random):
    edges = sorted({int(e) for e in random.integers(-50, 50, 4)} | {2**40})
    values = [*edges, *(e + 1 for e in edges), *(e - 1 for e in edges), 2**62, -(2**62)]
    return _intervals(md.Attribute(name=name, kind="number", storage="integer"), edges, random), values


def _floats(name, random):
    drawn = [*(random.normal(size=5) * 10.0 ** random.integers(-320, 300, 5)), *(random.random(20) * 1000)]
    edges = sorted({float(e) for e in drawn if np.isfinite(e)} | {0.1, 27.5, 1e23, 5e-324})
    near = [float(np.nextafter(e, side)) for e in edges for side in (-np.inf, np.inf)]
    values = [*edges, *near, float("inf"), float("-inf"), float("nan"), -0.0]
    return _intervals(md.Attribute(name=name, kind="number", storage="float"), edges, random), values


def _truths(name, random):
    return _intervals(md.Attribute(name=name, kind="number", storage="boolean"), [0.5], random), [True, False]


def _days(name, random):
    days = sorted({int(day) for day in random.integers(-200_000, 40_000, 4)})
    edges = [iso(86400.0 * day) for day in days]
    values = [dt.date(1970, 1, 1) + dt.timedelta(days=day + shift) for day in days for shift in (-1, 0, 1)]
    return _intervals(md.Attribute(name=name, kind="date", storage="date"), edges, random), values


def _moments(name, random):
    start = dt.datetime(1970, 1, 1)
    micros = sorted({int(m) for m in random.integers(-5 * 10**16, 10**17, 6)})
    moments = [start + dt.timedelta(microseconds=m) for m in micros]
    near = [m + dt.timedelta(microseconds=shift) for m in moments for shift in (-2, -1, 0, 1, 2)]
    edges = [m.isoformat() for m in moments]
    return _intervals(md.Attribute(name=name, kind="date", storage="datetime"), edges, random), near


def _groups(attribute, values, random):
    """The first values in a few buckets, the last one unseen."""
    texts = list(dict.fromkeys(canonical(value) for value in values))
    named = texts[: max(2, len(texts) - 2)]
    which = random.integers(0, max(2, int(random.integers(2, len(named) + 1))), len(named))
    parts = [[text for text, w in zip(named, which, strict=True) if w == k] for k in sorted(set(which.tolist()))]
    if len(parts) == 1:
        parts = [named[:1], named[1:]]
    buckets = [Group(values=tuple(part)) for part in parts]
    unseen = _policy(random, buckets, "unseen")
    missing = _policy(random, buckets, "missing")
    return Groups(attribute=attribute, buckets=tuple(buckets), unseen=unseen, missing=missing)


def _kept_text(name, random):
    values = [HOSTILE[i] for i in random.permutation(len(HOSTILE))]
    attribute = md.Attribute(name=name, kind="category", storage="text")
    texts = list(dict.fromkeys(canonical(value) for value in values))[:-2]
    return Groups(attribute=attribute, buckets=tuple(Group(values=(text,)) for text in texts)), _both_forms(values)


def _text(name, random):
    values = [HOSTILE[i] for i in random.permutation(len(HOSTILE))]
    return _groups(md.Attribute(name=name, kind="category", storage="text"), values, random), _both_forms(values)


def _both_forms(values):
    import unicodedata

    return [form for value in values for form in (value, unicodedata.normalize("NFD", value))]


def _category(name, random, storage, values):
    values = [values[i] for i in random.permutation(len(values))]
    return _groups(md.Attribute(name=name, kind="category", storage=storage), values, random), values


def _float_codes(name, random):
    values = [0.0, -0.0, 0.5, 1e22, 1.1, float("inf"), 3.0, -2.5e-7]
    partition, drawn = _category(name, random, "float", values)
    return partition, [*drawn, float("nan")]


def _full_detail(name, random, kind, storage, values):
    attribute = md.Attribute(name=name, kind=kind, storage=storage)
    return FullDetail(attribute=attribute, missing=str(random.choice(["separate", "refuse"]))), values


_MAKERS = {
    "integers": _integers,
    "floats": _floats,
    "truths": _truths,
    "days": _days,
    "moments": _moments,
    "kept text": _kept_text,
    "text": _text,
    "integer codes": lambda n, r: _category(n, r, "integer", [0, 1, -7, 10, 2**53 + 1, 2**62, 99]),
    "float codes": _float_codes,
    "truth codes": lambda n, r: _category(n, r, "boolean", [True, False]),
    "day codes": lambda n, r: _category(n, r, "date", [dt.date(2020, 2, 29), dt.date(1, 1, 1), dt.date(1999, 12, 31)]),
    "moment codes": lambda n, r: _category(
        n, r, "datetime", [dt.datetime(2020, 2, 29), dt.datetime(2020, 2, 29, 1, 2, 3, 4), dt.datetime(1999, 12, 31, 5)]
    ),
    "number in full": lambda n, r: _full_detail(n, r, "number", "float", [0.1, -5.0, float("inf"), float("nan")]),
    "date in full": lambda n, r: _full_detail(n, r, "date", "date", [dt.date(2020, 2, 29), dt.date(1999, 12, 31)]),
    "dropped": lambda n, r: (Dropped(attribute=md.Attribute(name=n, kind="category")), ["x", "y"]),
}

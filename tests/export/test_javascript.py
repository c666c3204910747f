"""The JavaScript module puts every value into the same bucket as Python, whatever the names."""

import json
import math
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import tables
from hypothesis import given, settings
from hypothesis import strategies as st
from nodejs import in_node

import modicum as md
from modicum.export.javascript import to_javascript
from modicum.generalization.bins import Dropped, FullDetail, Group, Groups, Interval, Intervals
from modicum.generalization.questionnaire import _series
from modicum.generalization.record_format import record_format
from modicum.provenance import identity
from modicum.table.frames import numbers
from modicum.table.values import iso


def driver_value(value):
    """A value as the driver reads it."""
    if isinstance(value, float) and (not math.isfinite(value) or str(value) == "-0.0"):
        return {"$": "nan" if value != value else "-0" if value == 0 else str(value)}
    return {"$": str(value)} if isinstance(value, int) and abs(value) > 2**53 else value


def driver_record(record):
    return {"map": [[name, driver_value(value)] for name, value in record.items()]}


def python_output(partition, value):
    """Python's output for one value: a label, a number, ISO text, null or a refusal."""
    try:
        series = _series(partition.name, value)
        code = int(partition.encode(series)[0])
        if not isinstance(partition, FullDetail):
            return {"given": partition.labels[code]}
        number = float(numbers(series, partition.attribute)[0])
        if math.isinf(number):
            return {"refused": partition.name}
        if math.isnan(number):
            return {"given": None}
        return {"given": iso(number) if partition.attribute.kind == "date" else number}
    except (md.errors.DataError, ValueError, OverflowError):
        return {"refused": partition.name}


def assert_same_buckets(node, g, values):
    """Compare the outputs of Python and JavaScript for each value of each attribute."""
    pairs = [(name, value) for name in g.needed for value in values[name]]
    found = node(g, [["bucketOf", name, driver_value(value)] for name, value in pairs])["results"]
    messages = {each.pop("message") for each in found if "message" in each}
    for (name, value), each in zip(pairs, found, strict=True):
        assert each == python_output(g[name], value), (name, value)
    assert len(messages) <= 4 * len(g.needed)  # too few to contain values


# fmt: off
NUMBERS = [
    "1", " 1", "1 ", "\t1\n", "\x0b1", "\x0c1\r", "\u00a01", "\u20031", "+1", "-1", "--1", "+-1", "- 1", "1e5",
    "1E+5", "1e", "1e+", "e5", ".5", "5.", ".", "-.5", "", "  ", "inf", "-inf", "+Infinity", "iNf", " inf", "inf ",
    "infinit", "nan", "NaN", "-nan", "null", "None", "NA", "True", "true", "False", "0x10", "0b1", "1_000", "1,000",
    "１２", "٣", "1L", "1f", "1d", "1j", "1e400", "-1e400", "1e-400", "5e-324", "9007199254740993",
    "18446744073709551616", "00012", "-0", "0e0", "1e 5", "0x1p3", "1e00000000000000000005", "1e99999999999999999999",
    "1.2.3", "1\x00", "\x001", "3.14159265358979323846264338327950288", "0." + "0" * 65 + "1", "1" + "0" * 71,
    "2.2250738585072011e-308", "?", None, math.nan, True, False, 0, -0.0, 1, 2**53, 2**53 + 1, 2**63, 2**64 + 1,
    10**30, 10**400, math.inf, -math.inf, 1e-7, 1e22, 1e16, 0.1, 5e-324, 1.7976931348623157e308, -3.5, 20, 20.5,
    20.000000000000004,
]
# fmt: on

# fmt: off
DATES = [
    "2020-01-02", "2020-1-2", "2020-01", "2020", "20200102", "202001", "2020/01/02", "2020.01.02", "2020 01 02",
    "2020-01-02T03", "2020-01-02T3", "2020-01-02T3:04", "2020-01-02T03:4:5", "2020-01-02t03:04", "2020-01-02T030405",
    "20200102 030405", "20200102030405", "2020-01-02T03:04:05.", "2020-01-02T03:04:05.1", "2020-01-02T03:04:05,5",
    "2020-01-02T03:04:05.123456", "2020-01-02T03:04:05.1234567891", "1500-01-01T00:00:00.1234567", "2020-01-02T",
    "2020-01-02T03:04:05Z", "2020-01-02T03:04:05z", "2020-01-02T03:04:05 Z ", "2020-01-02Z", "2020-01-02T03Z",
    "2020-01-02T03:04:05+01:00", "2020-01-02T03:04:05+0100", "2020-01-02T03:04+01", "2020-01-02T03:04:05-1",
    "2020-01-02T03:04:05+1:30", "2020-01-02T03:04:05+100", "2020-01-02T03:04:05+01:", "2020-01-02T03:04:05+01 ",
    "2020-01-02T03:04:05+01:00 ", "2020-01-02T03:04:05+24:00", "2020-01-02T03:04:05+00:60", "2020-01-02T03:04:05 UTC",
    "2020-01-02 ", " 2020-01-02", "2020-01-02\n", "2020-01-02T24:00", "2020-01-02T23:59:60", "2020-01-02T23:60",
    "2020-02-29", "2021-02-29", "1900-02-29", "2000-02-29", "2020-13-01", "2020-00-01", "2020-01-00", "2020-04-31",
    "0001-01-01", "0000-02-29", "9999-12-31", "10000-01-01", "+2020-01-02", "-2020-01-02", "-0001-12-31", "2020-W01",
    "2020-001", "NaT", "nan", "", "null", "1677-09-21T00:00:00.0000000", "2262-04-11T23:00:00.0000000", "2020-0102",
    "1969-12-31T23:59:59.9999995", "1969-12-31T23:59:59.000001", "2020\\01\\02", "2020-01/02", "01-02-2020",
    "２０２０-01-02", None, math.nan, True, False, "9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00",
]
# fmt: on

# fmt: off
TEXTS = [
    "", " ", "a", " a", "A", "é", "e\u0301", "\u212b", "Å", "</script>", "<!--", "'", '"', "\\", "\n", "\r\n", "\0",
    "\0a", "\u2028", "\u2029", "😀", "\ud800", "\u202eabc", "אב", "(other)", "(missing)", "a | b", "?", "nan", "None",
    "true", "1", "__proto__", "constructor", "toString", "hasOwnProperty", "1.0", "0.5", "1e-05",
    "10000000000000000000000", "inf", None, math.nan, True, False, 0, 1, -1, 1.0, 0.5, 1e-5, 1.25e-7, 1e-4, 1e22,
    1e16, 123456789.125, -0.0, 5e-324, 2**53 + 1, -(10**30), math.inf, -math.inf, 1e15 + 0.5, 0.1 + 0.2,
]
# fmt: on


def a_generalization(partitions):
    return md.Generalization(md.Schema(attributes=tuple(p.attribute for p in partitions)), partitions)


def ranges(name, edges, *, kind="number", storage="float", **policy):
    attribute = md.Attribute(name=name, kind=kind, storage=storage)
    buckets = [Interval(up_to=edge) for edge in edges] + [Interval()]
    return Intervals(attribute=attribute, buckets=tuple(buckets), **policy)


def groups(name, *values, **policy):
    return Groups(
        attribute=md.Attribute(name=name, kind="category"), buckets=[Group(values=v) for v in values], **policy
    )


@pytest.mark.parametrize("missing", ["separate", "refuse"])
def test_numbers_are_read_as_in_python(node, missing):
    edges = [-1e300, -3.5, -1, -5e-324, 0, 5e-324, 0.1, 0.5, 1, 5, 12, 20, 1e5, 2**53, 2**64, 1e22, 1.7e308]
    full = FullDetail(attribute=md.Attribute(name="full", kind="number", storage="float"), missing=missing)
    g = a_generalization([ranges("ranges", edges, missing=missing), full])
    random = np.random.default_rng(0)
    written = [
        f"{x:.{digits}e}" for x, digits in zip(random.normal(size=600), random.integers(0, 25, 600), strict=True)
    ]
    values = NUMBERS + written + [10.0**x for x in random.uniform(-320, 308, 300)] + random.choice(edges, 50).tolist()
    assert_same_buckets(node, g, {"ranges": values, "full": values})


@pytest.mark.parametrize("missing", ["separate", "refuse"])
def test_dates_are_read_as_in_python(node, missing):
    edges = [
        "0001-06-01",
        "1500-01-01",
        "1969-12-31T23:59:59.000001",
        "1970-01-01",
        "2020-01-02",
        "2020-01-02T03:04:05.1",
    ]
    full = FullDetail(attribute=md.Attribute(name="full", kind="date", storage="datetime"), missing=missing)
    g = a_generalization([ranges("ranges", edges, kind="date", storage="datetime", missing=missing), full])
    values = DATES + random_dates(400)
    assert_same_buckets(node, g, {"ranges": values, "full": values})


def random_dates(n):
    """Texts that are nearly ISO 8601: a date and a time in several forms, sometimes with one sign changed."""
    random = np.random.default_rng(1)
    found = []
    for _ in range(n):
        year, month, day, hour, minute, second = (
            int(random.integers(*ends)) for ends in ((1, 9999), (1, 14), (1, 33), (0, 25), (0, 61), (0, 61))
        )
        mark = random.choice(["-", "-", "/", "."])
        day_text = random.choice(
            [f"{year:04}{mark}{month:02}{mark}{day:02}", f"{year:04}{month:02}{day:02}", f"{year:04}"]
        )
        clock = random.choice(
            [
                "",
                f"T{hour:02}",
                f" {hour:02}:{minute:02}",
                f"T{hour:02}:{minute:02}:{second:02}",
                f"T{hour:02}{minute:02}{second:02}.{random.integers(10**6)}",
                f" {hour}:{minute}:{second}.{random.integers(10**7)}",
            ]
        )
        zone = random.choice(["", "", "Z", " Z", "+01:00", "-0330", "+5", "-05:3", " "])
        text = str(day_text) + str(clock) + str(zone)
        if random.random() < 0.3:
            at = int(random.integers(len(text)))
            text = text[:at] + str(random.choice([*"0123456789-:.TZ +", ""])) + text[at + 1 :]
        found.append(text)
    return found


@pytest.mark.parametrize("unseen", ["separate", "refuse"])
@pytest.mark.parametrize("missing", ["separate", "refuse"])
def test_categories_are_read_as_in_python(node, unseen, missing):
    words = [each for each in TEXTS if isinstance(each, str) and each not in ("e\u0301", "\u212b")]
    policy = {"unseen": unseen, "missing": missing}
    g = a_generalization(
        [groups("all", words[::2], words[1::2], **policy), groups("few", ["a"], ["1", "true"], **policy)]
    )
    assert_same_buckets(node, g, {"all": TEXTS, "few": TEXTS})


def test_unseen_and_missing_values_go_to_the_bucket_that_takes_them(node):
    job = Groups(
        attribute=md.Attribute(name="job", kind="category"),
        buckets=(Group(values=("a",), takes=("missing",)), Group(values=("b",), takes=("unseen",), label="the rest")),
    )
    age = Intervals(
        attribute=md.Attribute(name="age", kind="number"),
        buckets=(Interval(up_to=1.0), Interval(takes=("missing",))),
    )
    g = a_generalization([job, age])
    calls = [["bucketOf", "job", value] for value in ("a", None, "b", "c", 7)] + [["bucketOf", "age", None]]
    done = node(g, calls)
    assert [each["given"] for each in done["results"]] == ["a", "a", "the rest", "the rest", "the rest", "> 1"]
    assert [(each["other"], each["missing"]) for each in done["attributes"]] == [("the rest", "a"), (None, "> 1")]
    assert_same_buckets(node, g, {"job": TEXTS, "age": NUMBERS})


# fmt: off
HOSTILE = [
    "__proto__", "constructor", "</script>", "<!--", "a\0b", "'\"\\`${1}\n", "😀", "\u202eר", "10", "2",
]
# fmt: on


def test_hostile_names_and_ten_thousand_categories_stay_data(node, tmp_path):
    many = [
        f"{name}{i}"
        for i in range(1000)
        for name in ("</script>", "<!--", "__proto__", "\u2028", "é", "\0", "]]>", "&", "${", "😀")
    ]
    partitions = [groups(name, many[i::20], many[i + 5 :: 20], many[i + 7 :: 20]) for i, name in enumerate(HOSTILE[:5])]
    partitions += [groups(name, *[[each] for each in HOSTILE], ["__proto__0"]) for name in HOSTILE[5:]]
    g = a_generalization(partitions)
    module = g.to_javascript().module
    assert module.isascii()
    assert "</script" not in module.lower()
    assert "<!--" not in module
    assert "eval" not in module
    assert "Function" not in module
    subprocess.run([shutil.which("node"), "--check", str(_save(g, tmp_path))], check=True)
    random = np.random.default_rng(0)
    records = [{name: str(random.choice([*HOSTILE, *many[:500]])) for name in HOSTILE} for _ in range(300)]
    done = node(g, [["generalize", driver_record(record)] for record in records])
    expected = g.transform(pd.DataFrame(records, dtype=object)).astype(object).to_dict("records")
    assert [each["given"] for each in done["results"]] == expected
    assert [each["name"] for each in done["attributes"]] == HOSTILE
    assert record_format(g).check(done["results"][0]["given"])


def _save(artifact, folder):
    path = Path(folder) / "a.mjs"
    artifact.to_javascript().save(path)
    return path


def test_a_record_may_be_an_object_and_inherited_fields_are_ignored(tmp_path, node):
    g = a_generalization([groups("toString", ["a"]), groups("__proto__", ["a"]), ranges("n", [1])])
    path = _save(g, tmp_path)
    code = f"""
    import {{ generalize, Refusal }} from {json.dumps(path.as_uri())};
    const own = JSON.parse('{{"toString": "a", "__proto__": "a", "n": "2"}}');
    let refused = 0;
    for (const wrong of [null, 1, "a", [own], undefined]) {{
      try {{ generalize(wrong) }} catch (error) {{ refused += error instanceof Refusal }}
    }}
    console.log(JSON.stringify([generalize({{}}), generalize(own), Object.getPrototypeOf(generalize(own)), refused,
      Object.hasOwn(generalize(own), "__proto__"), ({{}}).a === undefined]));
    """
    done = subprocess.run([shutil.which("node"), "--input-type=module", "-e", code], capture_output=True, check=True)
    empty, own, prototype, refused, has, clean = json.loads(done.stdout)
    assert empty == {"toString": "(missing)", "__proto__": "(missing)", "n": "(missing)"}
    assert own == {"toString": "a", "__proto__": "a", "n": "> 1"}
    assert (prototype, refused, has, clean) == (None, 5, True, True)


def test_javascript_dates_are_accepted_and_other_objects_are_refused(tmp_path, node):
    g = a_generalization([ranges("d", ["2020-01-01"], kind="date"), groups("c", ["2020-01-02"]), ranges("n", [1])])
    code = f"""
    import {{ bucketOf, Refusal }} from {json.dumps(_save(g, tmp_path).as_uri())};
    const refused = (name, value) => {{
      try {{ bucketOf(name, value) }} catch (error) {{ return error instanceof Refusal ? error.message : null }}
    }};
    const day = new Date(Date.UTC(2020, 0, 2));
    const wrong = [new Date(NaN), {{}}, [1], Symbol("a"), () => 1];
    console.log(JSON.stringify([bucketOf("d", day), bucketOf("c", day), bucketOf("n", 2n ** 70n),
      ["d", "c", "n"].flatMap((name) => wrong.map((value) => refused(name, value))), refused("d", 2020),
      refused("absent", 1)]));
    """
    done = subprocess.run([shutil.which("node"), "--input-type=module", "-e", code], capture_output=True, check=True)
    *labels, refused, year, absent = json.loads(done.stdout)
    assert labels == ["> 2020-01-01", "2020-01-02", "> 1"]
    assert all(refused)
    assert year == 'The attribute "d" should be a date.'
    assert absent == "There is no attribute of this name."


@pytest.fixture(scope="module")
def adult():
    X, y = md.datasets.load_adult(return_X_y=True)
    return X[:6000], y[:6000]


def spoiled(X, seed=0, share=0.1):
    """Records in which some values are missing, unseen or of another type."""
    random = np.random.default_rng(seed)
    columns = {}
    for name in X:
        values = X[name].astype(object).tolist()
        strange = [
            None,
            math.nan,
            *([f"{v}" for v in values[:3]] if pd.api.types.is_numeric_dtype(X[name]) else ["new", 7, True, 0.5]),
        ]
        columns[name] = [strange[random.integers(len(strange))] if random.random() < share else v for v in values]
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


@pytest.mark.parametrize(
    "minimizer", [md.PrivacyTree(max_leaves=12), md.Uniform(buckets=4), md.Uniform(buckets=500)], ids=str
)
def test_thousands_of_records_get_the_labels_of_transform(node, adult, minimizer):
    g = minimizer.fit(*adult).generalization_
    X = spoiled(adult[0][:4000])
    records = X.to_dict("records")
    done = node(g, [["generalize", driver_record(record)] for record in records])
    outputs = [each["given"] for each in done["results"]]
    assert outputs == g.transform(X).astype(object).to_dict("records")
    format = record_format(g)
    assert [format.record(format.check(each)) for each in outputs[:300]] == outputs[:300]
    assert done["kind"] == "generalization"
    assert done["artifact"] == identity(g)


@settings(max_examples=12)
@given(table=tables(), buckets=st.integers(1, 5))
def test_random_tables_get_the_same_labels(table, buckets):
    X, y, schema = table
    g = md.Uniform(buckets=buckets, schema=schema).fit(X, y).generalization_
    records = [
        {n: v.isoformat() if isinstance(v, pd.Timestamp) else None if pd.isna(v) else v for n, v in row.items()}
        for row in X.astype(object).to_dict("records")
    ]
    with tempfile.TemporaryDirectory() as folder:
        done = in_node(folder)(g, [["generalize", driver_record(record)] for record in records])
    expected = g.transform(X).astype(object)
    assert [each["given"] for each in done["results"]] == expected.to_dict("records")


def test_attributes_describe_what_a_form_needs(node):
    schema = md.Schema(
        attributes=(
            md.Attribute(
                name="age", kind="number", storage="integer", question="How old?", help="In years.", domain=[0, 120]
            ),
            md.Attribute(name="born", kind="date", storage="date"),
            md.Attribute(name="job", kind="category"),
            md.Attribute(name="zip", kind="category"),
            md.Attribute(name="pay", kind="number", storage="float"),
        )
    )
    g = md.Generalization(
        schema,
        [
            Intervals(attribute=schema["age"], buckets=(Interval(up_to=40.0), Interval()), missing="refuse"),
            Intervals(attribute=schema["born"], buckets=(Interval(up_to="1980-01-01"), Interval())),
            Groups(attribute=schema["job"], buckets=(Group(values=("a", "b")), Group(values=("c",))), unseen="refuse"),
            Dropped(attribute=schema["zip"]),
            FullDetail(attribute=schema["pay"]),
        ],
    )
    age, born, job, zip_, pay = node(g, [])["attributes"]
    assert age == {
        "name": "age",
        "kind": "number",
        "storage": "integer",
        "action": "coarsened",
        "question": "How old?",
        "help": "In years.",
        "buckets": [{"label": "≤ 40", "upTo": 40}, {"label": "≥ 41", "upTo": None}],
        "other": None,
        "missing": None,
        "missingRefused": True,
        "unseenRefused": False,
        "domain": [0, 120],
    }
    assert born["buckets"][0] == {"label": "≤ 1980-01-01", "upTo": 315532800, "upToText": "1980-01-01"}
    assert job["buckets"] == [{"label": "a | b", "values": ["a", "b"]}, {"label": "c", "values": ["c"]}]
    assert (job["other"], job["unseenRefused"], job["missing"]) == (None, True, "(missing)")
    assert (zip_["action"], zip_["buckets"], zip_["missing"], zip_["missingRefused"]) == ("dropped", None, None, False)
    assert (pay["action"], pay["buckets"], pay["missing"], pay["missingRefused"]) == ("kept", None, None, False)


def test_modules_are_saved_only_for_artifacts_and_valid_paths(tmp_path):
    g = a_generalization([ranges("n", [1])])
    with pytest.raises(md.errors.ParameterError, match=r"must end in \.js or \.mjs"):
        g.to_javascript().save(tmp_path / "module.txt")
    with pytest.raises(md.errors.ParameterError, match="must be a Generalization"):
        to_javascript({"modicum": "generalization"})
    with pytest.raises(md.errors.DataError, match="cannot be written"):
        g.to_javascript().save(tmp_path / "absent" / "module.js")
    assert list(tmp_path.iterdir()) == []
    g.to_javascript().save(tmp_path / "module.js")
    assert (tmp_path / "module.js").read_text() == str(g.to_javascript())
    assert (tmp_path / "module.d.ts").read_text() == g.to_javascript().types


def test_representatives_are_refused_for_a_generalization():
    g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    with pytest.raises(md.errors.ParameterError, match="for cells and questionnaires"):
        g.to_javascript(representatives=True)

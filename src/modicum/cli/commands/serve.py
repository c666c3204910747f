"""`modicum serve`: collect generalized records, and predict from them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from modicum.cli import options
from modicum.cli.options import out
from modicum.cli.output import build_table, printable
from modicum.errors import ParameterError, require

if TYPE_CHECKING:
    from modicum.attacks.multi_breach import MultiBreachResult
    from modicum.generalization import CellPartition, Generalization
    from modicum.generalization.loading import Collected
    from modicum.service.stores.store import StoredArtifact

_NO_TLS = "Others can reach this address, and there is no TLS: put a proxy with a certificate in front of it."


def serve(
    bundle: Annotated[Path, typer.Argument(help="A folder written by `modicum bundle` or `md.save_bundle`.")],
    store: Annotated[
        str, typer.Option(help="Where records are stored: a DuckDB file, or a URL that begins with postgresql://.")
    ] = "data.duckdb",
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 takes a free one.")] = 8000,
    rate: Annotated[float, typer.Option(help="Requests a second that one client may send; 0 for no limit.")] = 50.0,
    accept_multi_breach: Annotated[
        bool,
        typer.Option(
            "--accept-multi-breach",
            help="Collect into a store that holds records of another version, after showing what both together reveal; "
            "needs --sample.",
        ),
    ] = False,
    sample: Annotated[
        Path | None, typer.Option(help="Full records (CSV or Parquet) on which this is measured (adversary A6).")
    ] = None,
    missing: options.MissingOption = None,
    seed: options.SeedOption = 0,
) -> None:
    """Serve the form of BUNDLE, store the generalized records that are sent, and predict from them.

    Records finer than the bundle's buckets are refused, and no record is logged.
    """
    for package in ("fastapi", "uvicorn"):
        require(package, extra="serve")
    from modicum.export.model_bundle import load_bundle
    from modicum.service.app import create_app
    from modicum.service.reading import RequestLimits
    from modicum.service.running import is_loopback, listening, run, stoppable
    from modicum.service.stores.store import open_store
    from modicum.service.versions import check_alone, other_versions

    if accept_multi_breach != (sample is not None):
        raise ParameterError("The options --accept-multi-breach and --sample FILE belong together.")
    if not 0 <= rate < math.inf:
        raise ParameterError(f"The option --rate must be a number ≥ 0, where 0 is no limit. Got {rate:g} instead.")
    loaded = load_bundle(bundle)
    records = open_store(store)
    try:
        others = other_versions(records, loaded.identity) if accept_multi_breach else []
        check_alone(records, loaded.identity, accepted := [stored.id for stored in others])
        if sample is not None:
            show_several(loaded.artifact, others, sample, missing, seed, out)
        with stoppable(), listening(host, port) as at:
            app = create_app(loaded, records, RequestLimits(rate=rate), accept_others=accepted)
            what = f"{loaded.kind} {loaded.identity[:12]}"
            predicts = f", predicts {loaded.label or 'the outcome'}" if loaded.can_predict else ", without a model"
            out.print(printable(f"Collects by {what}{predicts}; records go to {records.name}."), soft_wrap=True)
            if not is_loopback(host):
                out.print(printable(_NO_TLS), soft_wrap=True)
            shown = f"[{host}]" if ":" in host else host
            out.print(printable(f"Listening at http://{shown}:{at.getsockname()[1]}; Ctrl-C stops it."), soft_wrap=True)
            try:
                run(app, at)
            finally:
                app.state.service.close()
    finally:
        records.close()
    out.print("Stopped; every confirmed record is stored.")


# What two versions of a generalization reveal together (adversary A6)


def show_several(
    new: Collected,
    stored: Sequence[StoredArtifact],
    sample: Path,
    missing: Sequence[str] | None,
    seed: int,
    console: Console,
) -> None:
    """Attack the sample under all versions together and under each alone; with one version, only check the sample."""
    from modicum.attacks import MultiBreach, OverlapWarning
    from modicum.cli.commands.attack import read_attack_records
    from modicum.generalization import Generalization
    from modicum.service.stores.store import artifact_of

    versions = [artifact_of(each) for each in stored]
    views = align_versions([*versions, new])
    personal = list(dict.fromkeys(name for each in [*versions, new] for name in _by_attribute(each).schema.personal))
    known, breached = read_attack_records(views[-1], sample, None, missing, seed)
    if not stored:
        console.print("The store holds records of no other version, so there is nothing to measure.")
        return
    console.print(
        f"The store holds records of {len(stored)} other version{'s' if len(stored) > 1 else ''}; measuring on "
        f"{breached.shape[0]:,} records what they reveal together …"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)  # rows of one file may be equal
        found = MultiBreach(personal, n_jobs=-1, random_state=seed).run(views, known, breached)
    console.print(_table(found, [*(f"stored {each.id[:12]}" for each in stored), "the new one"]))
    if not all(isinstance(each, Generalization) for each in [*versions, new]):
        console.print(
            "Cells and questionnaires were attacked as if they revealed the bucket of each attribute. They reveal "
            "less: the true errors are higher."
        )
    worst = found.worst
    own = found.by_attribute[worst]
    console.print(
        printable(
            f"The largest gain is about {worst!r}: {own.error:.1%} wrong guesses instead of {own.naive:.1%}. An error "
            "is the share of personal values guessed wrong: higher is safer."
        )
    )


def align_versions(versions: Sequence[Collected]) -> list[Generalization]:
    """Return generalizations of the same attributes; what a version does not describe, it does not collect.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.cli.commands.serve import align_versions
    >>> X = pd.DataFrame({"age": [18, 35, 70], "job": ["nurse", "clerk", "nurse"]})
    >>> one, two = (md.Uniform(buckets=2).fit(X[names]).generalization_ for names in (["age"], ["age", "job"]))
    >>> [g.needed for g in align_versions([one, two])]
    [['age'], ['age', 'job']]
    """
    from modicum.generalization import Generalization
    from modicum.generalization.bins import Dropped
    from modicum.table.schema import Schema

    views = [_by_attribute(each) for each in versions]
    features = {a.name: a for g in views for a in g.schema if a.collectable}
    others = [a for a in views[-1].schema if a.name not in features]
    schema = Schema(attributes=(*features.values(), *others), missing=views[-1].schema.missing)
    return [
        Generalization(schema, [g[name] if name in g.names else Dropped(attribute=a) for name, a in features.items()])
        for g in views
    ]


def _by_attribute(artifact: Collected) -> Generalization:
    """Return the buckets of each attribute; for cells and questionnaires this is more than records reveal."""
    from modicum.generalization import Generalization, Questionnaire

    if isinstance(artifact, Generalization):
        return artifact
    cells: CellPartition = artifact.cells if isinstance(artifact, Questionnaire) else artifact
    return Generalization(cells.schema, [cells.code_buckets(name)[0] for name in cells.names])


def _table(found: MultiBreachResult, names: Sequence[str]) -> Table:
    first = Column("what an adversary sees", no_wrap=True)
    table = build_table(first, numbers=("error", "95% interval", "naive", "raw"))
    errors, intervals = [*found.alone, found.error], [*found.alone_intervals, found.interval]
    for name, error, (low, high) in zip([*names, "all of them (A6)"], errors, intervals, strict=True):
        ends = f"{low:.1%} to {high:.1%}"
        table.add_row(printable(name), f"{error:.1%}", ends, f"{found.naive:.1%}", f"{found.raw:.1%}")
    return table

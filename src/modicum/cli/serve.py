"""`modicum serve`: collect generalized records, and predict from them."""

import math
from pathlib import Path
from typing import Annotated

import typer

from modicum.cli.options import MissingOption, SeedOption, out
from modicum.cli.tables import printable
from modicum.errors import ParameterError, require

_NO_TLS = "Others can reach this address, and there is no TLS: put a proxy with a certificate in front of it."


def serve(
    bundle: Annotated[Path, typer.Argument(help="A folder that `md.save_bundle` has written.")],
    store: Annotated[
        str, typer.Option(help="Where records are kept: a DuckDB file, or a URL that begins with postgresql://.")
    ] = "data.duckdb",
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen at; 0 takes a free one.")] = 8000,
    rate: Annotated[float, typer.Option(help="Requests a second that one client may send; 0 for no limit.")] = 50.0,
    accept_multi_breach: Annotated[
        bool,
        typer.Option(
            "--accept-multi-breach",
            help="Collect into a store that holds records of another version, after seeing what both together give "
            "away; needs --sample.",
        ),
    ] = False,
    sample: Annotated[
        Path | None, typer.Option(help="Full records (CSV or Parquet) on which that is measured (adversary A6).")
    ] = None,
    missing: MissingOption = None,
    seed: SeedOption = 0,
) -> None:
    """Serve the form of BUNDLE, keep the generalized records that are sent, and predict from them.

    Anything finer than the bundle's buckets is refused, and nothing that is sent is logged.
    """
    for package in ("fastapi", "uvicorn"):
        require(package, extra="serve")
    from modicum.export.model_bundle import load_bundle
    from modicum.service.app import create_app
    from modicum.service.limits import Limits
    from modicum.service.running import is_loopback, listening, run, stoppable
    from modicum.service.stores.store import open_store
    from modicum.service.versions import check_alone, other_versions

    if accept_multi_breach != (sample is not None):
        raise ParameterError("The options --accept-multi-breach and --sample FILE belong together.")
    if not 0 <= rate < math.inf:
        raise ParameterError(f"The option --rate must be a number ≥ 0, where 0 is no limit. Got {rate:g} instead.")
    loaded = load_bundle(bundle)
    kept = open_store(store)
    try:
        others = other_versions(kept, loaded.identity) if accept_multi_breach else []
        check_alone(kept, loaded.identity, accepted := [stored.id for stored in others])
        if sample is not None:
            from modicum.cli.several_versions import show_several

            show_several(loaded.artifact, others, sample, missing, seed, out)
        with stoppable(), listening(host, port) as at:
            app = create_app(loaded, kept, Limits(rate=rate), accept_others=accepted)
            what = f"{loaded.kind} {loaded.identity[:12]}"
            predicts = f", predicts {loaded.label or 'the outcome'}" if loaded.can_predict else ", without a model"
            out.print(printable(f"Collects by {what}{predicts}; records go to {kept.name}."), soft_wrap=True)
            if not is_loopback(host):
                out.print(printable(_NO_TLS), soft_wrap=True)
            shown = f"[{host}]" if ":" in host else host
            out.print(printable(f"Listening at http://{shown}:{at.getsockname()[1]}; Ctrl-C stops it."), soft_wrap=True)
            try:
                run(app, at)
            finally:
                app.state.service.close()
    finally:
        kept.close()
    out.print("Stopped; every record that was answered for is kept.")

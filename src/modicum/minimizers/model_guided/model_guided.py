"""Model-guided minimization: the least data that an existing model needs [Goldsteen22]."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from modicum.engines import is_table, table_at
from modicum.errors import DataError, ParameterError, PrivacyWarning, check_choice, check_number
from modicum.learners.asking import Model
from modicum.minimizers.base import Minimizer, in_memory_only
from modicum.minimizers.model_guided.bucket_search import best, paper
from modicum.minimizers.model_guided.cell_search import artifact, hidden, one_cell, search_cells
from modicum.minimizers.model_guided.guiding_tree import Losses, homogeneous_tree
from modicum.minimizers.model_guided.outcomes import HeldOut, Outcomes, Reported, groups_of
from modicum.minimizers.model_guided.records import ModelView, Records
from modicum.minimizers.model_guided.setting import Setting
from modicum.progress import Stop, stoppable, track_progress
from modicum.table.codes import Coder
from modicum.table.estimator_input import as_names, attribute_weights, person_codes
from modicum.table.frames import as_frame, is_array
from modicum.table.schema import Schema
from modicum.table.splits import Split, split_rows

CHOOSE, REPORT = 0.25, 0.25  # shares of the records; the others are learned from
_SAMPLE, _MOST_CHOOSE = 1_500, 20_000  # records to try steps on (at most half of those learned from), and to choose on
_FEWEST = 8


class ModelGuided(Minimizer):
    """Collect what a fitted model needs for the same predictions as on full records [Goldsteen22 §3].

    The model is only asked for predictions: it is neither retrained nor inspected, and no labels are needed. A tree
    learns its predictions until each leaf holds only one. The search begins with the buckets that the tree's questions
    make of each attribute.

    With ``search="best"`` every merge of two buckets is tried with the model itself on a sample of the records, and
    those that hide most for each changed prediction are made, as long as the target holds (with a standard error to
    spare) on records set aside for the choice. If the tree's own buckets miss the target, attributes are refined first,
    starting with those that save most predictions for what they reveal; [Goldsteen22 §5.3] names both directions. The
    tree of `cells_` is pruned by its weakest links. ``search="paper"`` is the paper's own search: the tree is pruned
    level by level, or attributes leave the generalization in the order of ILAG. Then the cells keep the target; the
    buckets alone may keep more or less, as `held_out_` and `path_` show.

    Of the records given to `fit`, half are for learning, a quarter for choosing, and a quarter for the reported
    figures. A person's records stay together if the schema names a person column.

    Parameters
    ----------
    model : fitted estimator, or function of a frame
        Takes frames like X (arrays if X is one) and returns one prediction for each record. It includes preprocessing.
    target_agreement : float from 0 to 1
        The share of predictions to keep (for a number: R², or see `agreement`).
    search : 'best' or 'paper'
    minimize : list of str, optional
        Only these attributes; the others are collected in full detail.
    agreement : 'auto', 'same', 'r2' or a number
        What it means to keep a prediction: the same class, R² between predictions, or a largest difference.
        By default the same class; R² for a regressor, and for a function that gives more than 32 different floats.
    representatives : 'synthetic' or 'record'
        What represents a cell of `cells_`: a synthetic record, or the paper's choice, the record of an actual person.
    generalizer : 'tree', 'clusters' or function
        What the tree learns: the model's predictions, or clusters of records within each; a function of records and
        predictions gives each record's group.
    loss : 'ncp', 'entropy' or function
        The information loss to raise: NCP (`modicum.measures.ncp`), the remaining entropy of each value, or a function
        of an attribute's coding and the codes that remain possible, from 0 to 1.
    loss_weights : dict, optional
        Weight of each attribute in the loss, 1 by default; give sensitive ones more.
    feature_slices : dict or list of lists, optional
        One-hot columns that are one category: name → columns. People are asked for the category.
    scaler : fitted transformer, optional
        The transformer that scaled the numbers of X; people are asked for them in original units.
    max_depth : int, optional
        The tree's depth limit.
    personal : list of str, optional
        Recorded in the artifact's schema.
    schema : Schema, optional
        Kinds and roles; inferred if not given. What it locks is kept in full detail, what it forbids is never
        collected.
    random_state : int, RandomState or None
        Splits the records.
    progress : bool
        Whether to show a progress bar on a terminal.

    Attributes
    ----------
    generalization_ : Generalization
        Global recoding: the model gets `transform(X, output="values")`, or `feed(X)` if there are `feature_slices` or
        a `scaler`.
    cells_ : CellPartition
        Local recoding, which hides more but needs code where data is collected [Goldsteen22 §3.2].
    held_out_, cells_held_out_ : HeldOut
        The figures of each on held-out records: agreement with its interval, NCP, disclosure risk.
    path_ : list of GuidedPoint
        From full detail to nothing; for the paper's search, its iterations.
    tree_ : Tree
        Homogeneous in the model's predictions, on codes of `coder_`.
    coder_ : Coder

    Examples
    --------
    >>> import modicum as md
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "education", "hours-per-week", "relationship", "capital-gain"]].astype(
    ...     {"education": "category", "relationship": "category"}
    ... )
    >>> model = HistGradientBoostingClassifier(categorical_features="from_dtype").fit(X[:8000], y[:8000])
    >>> guided = md.ModelGuided(model, target_agreement=0.95).fit(X[8000:16000])
    >>> guided.held_out_.agreement > 0.93, guided.held_out_.loss.gcp > 0.3
    (True, True)
    >>> least = guided.generalization_.transform(X[16000:], output="values")
    >>> bool((model.predict(least) == model.predict(X[16000:])).mean() > 0.93)
    True
    """

    _needs_label = False

    def __init__(
        self,
        model: Any,
        *,
        target_agreement: float = 0.98,
        search: str = "best",
        minimize: Iterable[str] | None = None,
        agreement: str | float = "auto",
        representatives: str = "synthetic",
        generalizer: Any = "tree",
        loss: Any = "ncp",
        loss_weights: Mapping[str, float] | None = None,
        feature_slices: Any = None,
        scaler: Any = None,
        max_depth: int | None = None,
        personal: Iterable[str] | None = None,
        schema: Schema | None = None,
        random_state: int | np.random.RandomState | None = 0,
        progress: bool = True,
    ) -> None:
        self.model = model
        self.target_agreement = target_agreement
        self.search = search
        self.minimize = minimize
        self.agreement = agreement
        self.representatives = representatives
        self.generalizer = generalizer
        self.loss = loss
        self.loss_weights = loss_weights
        self.feature_slices = feature_slices
        self.scaler = scaler
        self.max_depth = max_depth
        self.personal = personal
        self.schema = schema
        self.random_state = random_state
        self.progress = progress

    def __sklearn_clone__(self) -> "ModelGuided":
        """A new estimator with the same, fitted model and scaler; a clone of the model would be unfitted."""
        params = self.get_params(deep=False)
        copied = {
            name: value if name in ("model", "scaler") else clone(value, safe=False) for name, value in params.items()
        }
        return type(self)(**copied)

    def fit(  # type: ignore[override]  # no label and no weights
        self, X: Any, y: Any = None, *, sample: int | None = None
    ) -> "ModelGuided":
        """Find the least that the model needs.

        Parameters
        ----------
        X : pandas or polars frame, or array
            Records as the model takes them; a column that the schema calls label, person or identifier is left out.
        y : ignored
        sample : int, optional
            Learn from this many records, drawn by a hash of their values (a table in an engine needs it);
            `sample_check_` then says whether they were enough.
        """
        self._check_parameters()
        if sample is not None:
            self._fit_sample(X, None, sample)
            return self
        self._forget_sample()
        if is_table(X):
            raise in_memory_only(self, table_at(X))
        frame, attributes, schema = self._read(X)
        seed = self._seed()
        model = Model(self.model)
        outcomes = Outcomes.of(model(self._view.select_columns(frame)), self.agreement, self.model)
        self._warn_of_a_constant(outcomes)
        parts = split_rows(
            outcomes.guide, persons=person_codes(schema, frame), validation=CHOOSE, test=REPORT, random_state=seed
        )
        if not len(parts.test):
            raise DataError("There are too few persons to hold some out for the figures; give records of more persons.")
        with stoppable("minimizing") as stop:
            setting = self._setting(model, outcomes, attributes, schema, parts, seed, stop)
            self.coder_, self.tree_ = setting.coder, setting.tree
            found = self._run_search(setting)
        self._check_reached(found, setting)
        rows = parts.test.tolist()
        persons = person_codes(schema, frame[rows])
        held_out = Reported(
            lambda values: model(self._view.feed(values)),
            outcomes,
            attributes[rows],
            schema,
            parts.test,
            persons,
            self.loss_weights,
        )
        self.held_out_: HeldOut = held_out.measure(self.generalization_)
        self.cells_held_out_: HeldOut = held_out.measure(self.cells_)
        return self

    def feed(self, X: Any) -> Any:
        """Return X as input for the model: only what `generalization_` collects, in the model's own columns.

        Parameters
        ----------
        X : frame or array
            Like the X of `fit`, with the same one-hot columns and scaled numbers.
        """
        check_is_fitted(self)
        return self._view.feed(self.generalization_.transform(self._attributes(X).to_native(), output="values"))

    def transform(self, X: Any) -> Any:
        """Return X with no more detail than `generalization_` collects: labels for a frame, codes for an array."""
        check_is_fitted(self)
        if self._view.is_plain:
            return super().transform(X)
        attributes = self._view.attributes(as_frame(X, self._columns).to_native())
        if not self._view.array:
            return self.generalization_.transform(attributes)
        return self.generalization_.transform(attributes, output="codes").to_numpy()

    def retrain(self, X: Any, y: Any) -> Any:
        """Return a new model of the same kind, trained on records with no more detail than `generalization_` collects.

        It predicts from what is collected from now on: `retrained.predict(guided.feed(X))`.

        Examples
        --------
        >>> import modicum as md
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> X, y = md.datasets.load_adult(return_X_y=True)
        >>> X = X[["age", "hours-per-week", "capital-gain"]]
        >>> model = DecisionTreeClassifier(max_leaf_nodes=30, random_state=0).fit(X[:5000], y[:5000])
        >>> guided = md.ModelGuided(model, target_agreement=0.97).fit(X[5000:9000])
        >>> retrained = guided.retrain(X[:5000], y[:5000])
        >>> bool((retrained.predict(guided.feed(X[9000:])) == y[9000:]).mean() > 0.75)
        True
        """
        check_is_fitted(self)
        if not hasattr(self.model, "fit"):
            raise ParameterError("This model is a function, which cannot be trained again.")
        return clone(self.model).fit(self.feed(X), y)

    def _check_parameters(self) -> None:
        check_number(self, "target_agreement", 0, 1, whole=False)
        if self.max_depth is not None:
            check_number(self, "max_depth", 1)
        check_choice(self, "search", ("best", "paper"))
        check_choice(self, "representatives", ("synthetic", "record"))
        if self.representatives == "record":
            warnings.warn(
                "With representatives='record' the cells hold the records of actual people; they cannot be saved.",
                PrivacyWarning,
                stacklevel=3,
            )

    def _convert_sample(self, X: Any) -> Any:
        """Convert a sample from an engine to what models take: none takes Arrow columns."""
        return X if is_array(X) or not as_frame(X).implementation.is_pyarrow() else as_frame(X).to_pandas()

    def _attributes(self, X: Any) -> nw.DataFrame[Any]:
        return as_frame(self._view.attributes(as_frame(X, self._columns).to_native()))

    def _read(self, X: Any) -> tuple[nw.DataFrame[Any], nw.DataFrame[Any], Schema]:
        """Return X as a frame, as attributes, and their schema; set the view from the model's columns to attributes."""
        frame = self._frame(X)
        if len(frame) < _FEWEST:
            raise DataError(f"ModelGuided needs at least {_FEWEST} records to work with; n_samples = {len(frame)}.")
        roles = {a.name for a in self.schema if not a.collectable} if isinstance(self.schema, Schema) else set()
        columns = [name for name in frame.columns if name not in roles]
        self._view = ModelView.of(X, columns, self.feature_slices, self.scaler)
        attributes = as_frame(self._view.attributes(frame.select(columns).to_native()), columns)
        schema = self._resolve_schema(attributes)
        wanted = as_names(self.minimize)
        if wanted is not None:
            schema = self._lock_others(schema, wanted)
        return frame, attributes, schema

    def _lock_others(self, schema: Schema, wanted: Any) -> Schema:
        if not isinstance(wanted, list):
            raise ParameterError(f"The 'minimize' parameter must be a list of names. Got {wanted!r} instead.")
        if not wanted:
            raise ParameterError("The 'minimize' parameter names no attribute; leave it out to minimize all.")
        unknown = [name for name in wanted if name not in schema.features]
        if unknown:
            raise DataError(f"The 'minimize' parameter names {unknown[0]!r}, which is not in the data.")
        for name in schema.features:
            if name not in wanted and not schema[name].forbidden:
                schema = schema.replace(name, locked=True)
        return schema

    def _setting(
        self,
        model: Model,
        outcomes: Outcomes,
        attributes: nw.DataFrame[Any],
        schema: Schema,
        parts: Split,
        seed: int,
        stop: Stop,
    ) -> Setting:
        learned = attributes[parts.train.tolist()]
        coder = Coder.fit(learned, schema)
        codes = coder.encode(learned)
        free = [j for j, c in enumerate(coder.codings) if not c.attribute.locked and not c.attribute.forbidden]
        shares = attribute_weights(coder.names, self._check_loss_weights(coder.names))
        losses = Losses(coder, [shares[name] for name in coder.names], self.loss)
        targets = outcomes.targets()[parts.train]
        if not (isinstance(self.generalizer, str) and self.generalizer == "tree"):
            predictions = np.unique(outcomes.guide[parts.train], return_inverse=True)[1]
            groups = groups_of(self.generalizer, learned.to_native(), predictions, coder, codes, seed)
            targets = np.column_stack([targets, groups])
        tree = homogeneous_tree(coder, codes, targets, free, self.max_depth, stop)
        random = np.random.default_rng(seed)
        sample = random.permutation(parts.train)[: min(_SAMPLE, (len(parts.train) + 1) // 2)]
        choose = parts.validation if len(parts.validation) else parts.train
        choose = np.sort(random.permutation(choose)[:_MOST_CHOOSE])
        tried = Records(model, self._view, coder, outcomes, attributes, np.concatenate([sample, choose]))
        tried.check_rebuilt()
        return Setting(
            coder, losses, codes, parts.train, tried, len(sample), tree, free, float(self.target_agreement), stop
        )

    def _check_loss_weights(self, names: Sequence[str]) -> Mapping[str, float] | None:
        if isinstance(self.loss_weights, Mapping):
            unknown = [name for name in self.loss_weights if name not in names]
            if unknown:
                raise ParameterError(f"The 'loss_weights' parameter names {unknown[0]!r}, which is not in the data.")
        return self.loss_weights

    def _run_search(self, setting: Setting) -> float:
        """Set the artifacts and the path; return the agreement on the records to choose on."""
        if self.search == "paper":
            return self._run_paper_search(setting)
        found = list(track_progress(best(setting), "Merging buckets", progress=self.progress))[-1]
        self.path_ = found.path
        chosen = self.path_[found.chosen]
        if setting.stop.asked and chosen.agreement < self.target_agreement:
            chosen = self.path_[0]  # stopped before the target was reached: full detail
        self.generalization_ = chosen.generalization
        leaf_records, kept = search_cells(setting, self.representatives)
        if hidden(leaf_records, kept, setting) >= chosen.loss - 1e-9 and not setting.stop.asked:
            self.cells_ = artifact(leaf_records, kept, setting, self.representatives)
        else:
            self.cells_ = one_cell(self.generalization_, self.representatives)
        return chosen.agreement

    def _run_paper_search(self, setting: Setting) -> float:
        steps = paper(setting, self.representatives)
        self.path_ = [step.point for step in steps]
        self.generalization_ = self.path_[-1].generalization
        self.cells_ = artifact(steps[-1].leaf_records, steps[-1].kept, setting, self.representatives)
        return steps[-1].agreement

    def _warn_of_a_constant(self, outcomes: Outcomes) -> None:
        constant = outcomes.constant_agreement
        if constant >= self.target_agreement > 0:
            warnings.warn(
                f"One prediction for everyone agrees with the model on {constant:.1%} of the records, so a target of "
                f"{self.target_agreement:.1%} needs no data; ask for more.",
                UserWarning,
                stacklevel=3,
            )

    def _check_reached(self, reached: float, setting: Setting) -> None:
        if reached < self.target_agreement - 1e-9 and not setting.stop.asked:
            forbids = any(coding.attribute.forbidden for coding in setting.coder.codings)
            advice = "Allow the attributes that the schema forbids, or ask for less." if forbids else "Ask for less."
            raise DataError(
                f"No generalization of these attributes keeps {self.target_agreement:.1%} of the predictions; the best "
                f"keeps {reached:.1%}. {advice}"
            )

"""The search of papers/1 §3.1, as it is written there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from modicum.minimizers.guiding.cell_search import Stands
from modicum.minimizers.guiding.descent import State
from modicum.minimizers.guiding.grouping import exactly
from modicum.minimizers.guiding.points import GuidedPoint
from modicum.minimizers.guiding.setting import Setting


@dataclass(frozen=True)
class PaperStep:
    """One iteration: the tree, the attributes taken out of the generalization, and its buckets as a point.

    `agreement` is that of the cells, by which the paper decides; the point has that of the buckets by themselves.
    """

    stands: Stands
    kept: list[int]
    agreement: float
    point: GuidedPoint


def paper(setting: Setting, representatives: str) -> list[PaperStep]:
    """Its iterations, the chosen one last.

    Where the leaves of the homogeneous tree reach the target, the tree is pruned by one level after another as long as
    they still do. Where they do not, the attribute with the lowest ILAG leaves the generalization, until they do:

        ILAG(f) = NCP(f) / gain(f), or NCP(f) where the gain is 0  (equation 3),

    with NCP(f) of the global recoding and gain(f) the rise of the agreement as f is left as it is (a fall counts as 0).
    """
    locked = [a for a, c in enumerate(setting.coder.codings) if a not in setting.free and not c.attribute.forbidden]
    steps = [_step(Stands.of(setting.tree, setting, representatives), locked, setting)]
    if steps[0].agreement >= setting.target:
        return _pruned(steps, setting, representatives)
    while (
        steps[-1].agreement < setting.target
        and not setting.stop.asked
        and len(steps[-1].kept) < len(locked) + len(setting.free)
    ):
        last = steps[-1]
        left = [a for a in setting.free if a not in last.kept]
        everyone = np.arange(setting.n_choose)
        agreements = 1.0 - last.stands.missed_with(last.kept, left, everyone) / setting.n_choose
        losses = [setting.loss_of(a, last.point.groupings[a]) for a in left]
        gains = np.maximum(0.0, agreements - last.agreement)
        ilag = [loss / gain if gain else loss for loss, gain in zip(losses, gains, strict=True)]
        steps.append(_step(last.stands, [*last.kept, left[int(np.argmin(ilag))]], setting))
    return steps


def _pruned(steps: list[PaperStep], setting: Setting, representatives: str) -> list[PaperStep]:
    for level in range(1, int(setting.nodes.heights[0]) + 1):
        step = _step(Stands.of(setting.nodes.by_level(level), setting, representatives), steps[0].kept, setting)
        if step.agreement < setting.target or setting.stop.asked:
            break
        steps.append(step)
    return steps


def _step(stands: Stands, kept: Sequence[int], setting: Setting) -> PaperStep:
    groupings = setting.of_tree(stands.tree)
    for a in kept:
        groupings[a] = exactly(setting.coder.codings[a])
    agreement = 1.0 - float(stands.misses(kept).mean())
    recoded = State.of(groupings, setting.tried).agreement_of(setting.n_sample)
    return PaperStep(stands, sorted(kept), agreement, setting.point(groupings, recoded))

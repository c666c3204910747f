"""The charts of a study, drawn only from the numbers of its report."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from modicum.reporting.charts import (
    AMBER,
    BLUE,
    DARK,
    GREEN,
    GREY,
    GRID,
    RED,
    SOFT,
    WIDTH,
    circle,
    line,
    readable,
    shorten_name,
    svg,
    ticks,
)
from modicum.reporting.generalization.data import EndContent
from modicum.reporting.study.data import (
    CandidateContent,
    FrontRow,
    PeriodContent,
    PersonalAttribute,
    Series,
    StudyContent,
)

PALETTE = (BLUE, AMBER, "#7b3fa0", GREEN, RED, "#00838f", "#6d4c41")
LEFT, TOP, BOTTOM = 62, 34, 46
LABEL = 15  # least distance between labels

Point = Sequence[float]


def colour(i: int) -> str:
    """Return the i-th colour."""
    return PALETTE[i % len(PALETTE)]


def pad_range(
    values: Sequence[float], below: float = 0.05, above: float = 0.05, least: float = 0.01
) -> tuple[float, float]:
    """Return the range of some numbers with room at both ends, at least `least` wide."""
    low, high = min(values), max(values)
    width = max(high - low, least)
    low = (low + high - width) / 2
    return low - below * width, low + (1 + above) * width


@dataclass(frozen=True)
class Plot:
    """Axes with round numbers, and the position of points in them."""

    x: tuple[float, float]
    y: tuple[float, float]
    right: int = 16
    height: int = 330

    def across(self, value: float) -> float:
        """Return the x position; values outside are drawn at the edge."""
        share = (value - self.x[0]) / (self.x[1] - self.x[0])
        return LEFT + min(1.0, max(0.0, share)) * (WIDTH - LEFT - self.right)

    def up(self, value: float) -> float:
        share = (value - self.y[0]) / (self.y[1] - self.y[0])
        return TOP + (1 - min(1.0, max(0.0, share))) * self.height

    def at(self, point: Point) -> tuple[float, float]:
        return self.across(point[0]), self.up(point[1])

    def frame(self, x_name: str, y_name: str, percent_y: bool = True, x_ticks: bool = True) -> list[Markup]:
        """Draw grid, numbers and names of both axes."""
        bottom, end = TOP + self.height, WIDTH - self.right
        parts = [words(8, 16, y_name, SOFT), words((LEFT + end) / 2, bottom + 38, x_name, SOFT, "middle")]
        rows = ticks(*self.y, most=6)
        for tick, shown in zip(rows, _numbers(rows, percent_y), strict=True):
            parts.append(line(LEFT, self.up(tick), end, self.up(tick), GRID, 1))
            parts.append(words(LEFT - 8, self.up(tick) + 4, shown, SOFT, "end"))
        columns = ticks(*self.x) if x_ticks else []
        for tick, shown in zip(columns, _numbers(columns), strict=True):
            parts.append(line(self.across(tick), TOP, self.across(tick), bottom, GRID, 1))
            parts.append(words(self.across(tick), bottom + 18, shown, SOFT, "middle"))
        return [*parts, line(LEFT, bottom, end, bottom, GREY, 1)]

    def draw(self, parts: Sequence[Markup], label: str) -> Markup:
        return svg(parts, TOP + self.height + BOTTOM, label)


def front_chart(content: StudyContent) -> Markup:
    """Draw all candidates' errors, the fronts, the two limits and the choice [Staab24 Figure 4]."""
    points, raw, nothing = content.points, content.raw_data, content.nothing_collected
    colours = {minimizer.name: colour(i) for i, minimizer in enumerate(content.minimizers)}
    width = max(0.01, abs(nothing.error - raw.error))
    furthest = max(raw.error, nothing.error) + 0.25 * width
    errors = [raw.error, nothing.error, *(min(x, furthest) for p in points for x in (p.error, p.by_counts[0]))]
    heights = [0.0, nothing.adversary_error, *(y for p in points for y in (p.adversary_error, p.by_counts[1]))]
    plot = Plot(pad_range(errors, 0.04, 0.06), (0.0, pad_range(heights, 0, 0.12)[1]), height=400)
    parts = plot.frame("error of the classifier", "mean error of the adversary (higher is safer)")
    by_judges = content.fronts_of == "each"
    for point in points:
        if not (point.judged and by_judges):
            dot = _dot(*plot.at(point.by_counts), 3, colours[point.minimizer], 0.45)
            parts.append(add_title(dot, _hover(point, point.by_counts, " (by counts)")))
    parts += [_steps(plot, each.line, colours[each.name], 1.6 if by_judges else 1) for each in content.minimizers]
    parts += [] if by_judges else [_steps(plot, content.front_line, DARK, 1.6)]
    for point in points:
        if point.judged:
            judged = _hover(point, (point.error, point.adversary_error))
            shade = 1.0 if point.on_own_front else 0.55
            parts.append(add_title(_dot(*_place(plot, point), 5, colours[point.minimizer], shade), judged))
    x, y = _place(plot, raw)
    parts += [_limit(x, y, "raw data", raw), words(x + 12, y - 7, "raw data")]
    x, y = _place(plot, nothing)
    parts += [_limit(x, y, "nothing collected", nothing), words(x + 26, y - 13, "nothing collected", anchor="end")]
    for x, y in [_place(plot, p) for p in points if p.chosen]:
        is_left = x > LEFT + 60  # there is room, and nothing is drawn above and left of a front
        parts += [
            _ring(x, y),
            words(x + (-12 if is_left else 12), y - 8, "chosen", anchor="end" if is_left else "start"),
        ]
    return plot.draw(parts, "Classifier error against adversary error of all candidates")


def attributes_chart(rows: Sequence[FrontRow], personal: Sequence[PersonalAttribute]) -> Markup:
    """Draw the adversary's error about each attribute along the front [Staab24 Figure 7], the naive guess's faint."""
    front = sorted(rows, key=lambda p: (p.error, p.adversary_error))
    drawn = [a for a in personal if a.drawn]
    heights = [0.0, *(a.naive for a in drawn), *(a.highest for a in drawn)]
    plot = Plot(pad_range([p.error for p in front]), (0.0, pad_range(heights, 0, 0.04)[1]), right=190)
    parts = plot.frame("error of the classifier", "error of the adversary about one attribute")
    places = [[plot.at((p.error, p.risks[a.name])) for p in front] for a in drawn]
    labels = spread([at[-1][1] for at in places], TOP + 4, TOP + plot.height)
    for i, (attribute, at, label) in enumerate(zip(drawn, places, labels, strict=True)):
        name, own = readable(attribute.name), colour(i)
        level, edge = plot.up(attribute.naive), WIDTH - plot.right
        path = _draw_polyline(at, own, i >= len(PALETTE))
        dots = [_dot(*place, 3 if len(front) <= 40 else 2, own) for place in at]
        parts += [
            Markup('<g stroke-dasharray="2 5" stroke-opacity=".35">') + line(LEFT, level, edge, level, own, 1),
            Markup("</g>"),
            add_title(Markup("").join([path, *dots]), f"{name}\nnaive guess {attribute.naive:.1%}"),
            Markup('<g stroke-opacity=".4">') + line(*at[-1], edge + 8, label, own, 1) + Markup("</g>"),
            words(edge + 12, label + 4, shorten_name(name), own, title=name),
        ]
    return plot.draw(parts, "Error of the adversary for each personal attribute along the front")


def sizes_chart(content: StudyContent) -> Markup:
    """Draw each minimizer's hypervolume from parts of the training records, with its interval over seeds."""
    sizes = sorted(content.train_sizes)
    volumes = [volume for minimizer in content.minimizers for volume in minimizer.sizes]
    tops = [end for volume in volumes for end in (volume.mean, *(volume.interval or [])) if end is not None]
    plot = Plot((-0.5, len(sizes) - 0.5), (0.0, pad_range([0.0, *tops], 0, 0.05)[1]), height=240)
    parts = plot.frame("share of the training records", "hypervolume (higher is better)", False, x_ticks=False)
    bottom = TOP + plot.height
    parts += [words(plot.across(i), bottom + 18, f"{100 * size:.4g}%", SOFT, "middle") for i, size in enumerate(sizes)]
    for j, minimizer in enumerate(content.minimizers):
        aside = 9 * (j - (len(content.minimizers) - 1) / 2)
        found = [
            (plot.across(sizes.index(volume.train_size)) + aside, volume.mean, volume.interval)
            for volume in sorted(minimizer.sizes, key=lambda volume: volume.train_size)
            if volume.mean is not None
        ]
        parts.append(_draw_polyline([(x, plot.up(mean)) for x, mean, _ in found], colour(j)))
        for x, mean, ends in found:
            if ends:
                parts.append(line(x, plot.up(ends[0]), x, plot.up(ends[1]), colour(j), 2))
            shown = f"{minimizer.name}\nhypervolume {mean:.3f}{_ends(ends)}"
            parts.append(add_title(_dot(x, plot.up(mean), 5, colour(j)), shown))
    return plot.draw(parts, "Hypervolume of each minimizer for each training size")


def fronts_chart(series: Sequence[Series | PeriodContent], label: str) -> Markup:
    """Draw several fronts, each in its colour [Staab24 Figures 8 and 15]; those of periods with their limits."""
    limits = [
        ([each.raw_error, 0.0], [each.majority_error, each.naive]) for each in series if isinstance(each, PeriodContent)
    ]
    points = [p for each in series for p in each.points] + [p for pair in limits for p in pair]
    if not points:
        return Markup("")
    plot = Plot(pad_range([x for x, _ in points]), (0.0, pad_range([0.0, *(y for _, y in points)], 0, 0.06)[1]))
    parts = plot.frame("error of the classifier", "mean error of the adversary (higher is safer)")
    for i, each in enumerate(series):
        parts.append(_draw_polyline([plot.at(p) for p in each.points], colour(i), i >= len(PALETTE)))
        for x, y in each.points:
            shown = f"{readable(each.name)}\nclassifier error {x:.1%}\nadversary error {y:.1%}"
            parts.append(add_title(circle(*plot.at((x, y)), 4, colour(i)), shown))
    parts += [_star(*plot.at(p), colour(i)) for i, pair in enumerate(limits) for p in pair]
    return plot.draw(parts, label)


def spread(wanted: Sequence[float], low: float, high: float, gap: float = LABEL) -> list[float]:
    """Return heights for labels, near the wanted ones but at least `gap` apart.

    Examples
    --------
    >>> from modicum.reporting.study.study_charts import spread
    >>> spread([50, 52, 10], low=0, high=60, gap=10)
    [50, 60, 10]
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed: list[float] = []
    for i in order:
        placed.append(max(wanted[i], low if not placed else placed[-1] + gap))
    for back in range(len(placed) - 1, -1, -1):
        placed[back] = min(placed[back], high if back == len(placed) - 1 else placed[back + 1] - gap)
    heights = dict(zip(order, placed, strict=True))
    return [heights[i] for i in range(len(wanted))]


def words(x: float, y: float, text: str, fill: str = DARK, anchor: str = "start", title: str = "") -> Markup:
    """Draw text with a light rim, so that it can be read over lines."""
    more = Markup("<title>{}</title>").format(title) if title else Markup("")
    return Markup(
        '<text x="{:.1f}" y="{:.1f}" text-anchor="{}" fill="{}" stroke="#fff" stroke-width="3" '
        'paint-order="stroke">{}{}</text>'
    ).format(x, y, anchor, fill, text, more)


def add_title(part: Markup, title: str) -> Markup:
    """Add a tooltip to something drawn."""
    return Markup("<g><title>{}</title>{}</g>").format(title, part)


def _hover(point: CandidateContent, errors: Point, how: str = "") -> str:
    lines = [
        f"{point.name}{how}",
        f"classifier error {errors[0]:.1%}, adversary error {errors[1]:.1%}",
        f"{point.buckets} buckets, smallest group {point.smallest_group}",
        *(point.asks or ["nothing is asked"]),
    ]
    return readable("\n".join(lines))


def _numbers(values: Sequence[float], percent: bool = True) -> list[str]:
    """Format ticks with as many digits as their step has."""
    step = values[1] - values[0] if len(values) > 1 else (values or [0.01])[0] or 0.01
    digits = max(0, -math.floor(math.log10(abs(step) * (100 if percent else 1)) + 1e-6))
    write: Callable[[float], str] = (lambda v: f"{v:.{digits}%}") if percent else (lambda v: f"{v:.{digits}f}")
    return [write(value + 0.0) for value in values]


def _place(plot: Plot, point: EndContent) -> tuple[float, float]:
    return plot.at((point.error, point.adversary_error))


def _dot(x: float, y: float, radius: float, fill: str, opacity: float = 1.0) -> Markup:
    return Markup('<circle cx="{:.1f}" cy="{:.1f}" r="{}" fill="{}" fill-opacity="{}" stroke="#fff"/>').format(
        x, y, radius, fill, opacity
    )


def _ring(x: float, y: float) -> Markup:
    return Markup(
        '<circle class="chosen" cx="{:.1f}" cy="{:.1f}" r="9" fill="none" stroke="{}" stroke-width="2.5"/>'
    ).format(x, y, DARK)


def _star(x: float, y: float, fill: str = DARK) -> Markup:
    corners = [(math.pi * i / 5, 4 if i % 2 else 10) for i in range(10)]
    places = " ".join(f"{x + r * math.sin(a):.1f},{y - r * math.cos(a):.1f}" for a, r in corners)
    return Markup('<polygon points="{}" fill="{}" stroke="#fff"/>').format(places, fill)


def _limit(x: float, y: float, name: str, point: EndContent) -> Markup:
    errors = f"classifier error {point.error:.1%}, adversary error {point.adversary_error:.1%}"
    return add_title(_star(x, y), f"{name}\n{errors}")


def _steps(plot: Plot, points: Sequence[Point], own: str, width: float) -> Markup:
    """Draw what a front reaches: right to the next point, then up to it."""
    if len(points) < 2:
        return Markup("")
    (x, y), *others = [plot.at(p) for p in points]
    path = f"M{x:.1f} {y:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in others)
    return Markup('<path d="{}" fill="none" stroke="{}" stroke-width="{}" stroke-opacity=".8"/>').format(
        path, own, width
    )


def _draw_polyline(places: Sequence[Point], own: str, dashed: bool = False) -> Markup:
    if len(places) < 2:
        return Markup("")
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dashes = Markup(' stroke-dasharray="6 3"') if dashed else ""
    return Markup('<polyline points="{}" fill="none" stroke="{}" stroke-width="1.6"{}/>').format(path, own, dashes)


def _ends(interval: Sequence[float] | None) -> str:
    return f" ({interval[0]:.3f} to {interval[1]:.3f})" if interval else ""

"""What χ² of a table comes to by chance, however few records its cells hold.

With both margins given and the records of one dealt to the other by chance, mean and variance of χ² are known exactly
(J. B. S. Haldane, Biometrika 31, 1940; in this form R. B. Dawson, Biometrika 41, 1954): with N records and r values,

    mean = N/(N − 1) · (r₁ − 1)(r₂ − 1),
    variance = 2N/(N − 3) · (ν₁ − μ₁)(ν₂ − μ₂) + N²/(N − 1) · μ₁μ₂,
    ν = (N − r)(r − 1)/(N − 1),  μ = (N · Σ 1/n_i − r²)/(N − 2),

ν and μ once for either margin. A gamma distribution with these two moments stands for χ²'s own: where the expected
counts are large, it is the usual χ² distribution; where they are small, the usual one is too narrow (a rare sensitive
value) or too wide (nearly as many cells as records).
"""

from dataclasses import dataclass

import numpy as np

from modicum.prism.finding.attribute_codes import Ints
from modicum.prism.finding.measure import Floats

_NONE = 1e-9, 1e-15  # a variance below the mean times the first, or times the second and N, is rounding


@dataclass(frozen=True)
class Null:
    """The distribution of χ² by chance, for each of several tables: a gamma with this mean and shape.

    An infinite shape says that χ² is the same whichever way the records are dealt.
    """

    mean: Floats
    shape: Floats

    def beyond(self, chi2: Floats) -> Floats:
        """How likely chance reaches χ²: 1 where χ² cannot vary."""
        from scipy.special import gammaincc  # deferred: it takes long to import

        varies = np.isfinite(self.shape) & (self.mean > 0)
        shape = np.where(varies, self.shape, 1.0)
        scaled = np.divide(chi2, self.mean, out=np.zeros(len(chi2)), where=varies)
        return np.where(varies, gammaincc(shape, shape * scaled), 1.0)

    def mean_excess(self) -> Floats:
        """E[(χ² − mean)₊] = mean · (Q(shape + 1, shape) − Q(shape, shape)), Q the gamma function's upper tail."""
        from scipy.special import gammaincc  # deferred: it takes long to import

        varies = np.isfinite(self.shape) & (self.mean > 0)
        shape = np.where(varies, self.shape, 1.0)
        return np.where(varies, self.mean * (gammaincc(shape + 1, shape) - gammaincc(shape, shape)), 0.0)


def null_chi2(n: int, cells: Ints, inverse: Floats, classes: int, class_inverse: float) -> Null:
    """Of tables of `cells` joint values by as many classes; each `inverse` is Σ 1/records over a margin's values.

    With three records or fewer the variance is taken as that of the χ² distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.finding.chi2_null import null_chi2
    >>> even = null_chi2(4000, np.array([4]), np.array([4 / 1000]), 2, 2 / 2000)
    >>> even.shape.round(2), even.beyond(np.array([7.815])).round(3)  # χ² with 3 degrees of freedom: 1.5 and 0.05
    (array([1.5]), array([0.05]))
    """
    df: Floats = (cells.astype(np.float64) - 1) * (classes - 1)
    if n <= 3:
        return Null(df, df / 2)
    mean = df * n / (n - 1)
    (nu, mu), (class_nu, class_mu) = _margin(n, cells, inverse), _margin(n, np.array([classes]), class_inverse)
    variance = 2 * n / (n - 3) * (nu - mu) * (class_nu - class_mu) + n**2 / (n - 1) * mu * class_mu
    varies = variance > mean * max(_NONE[0], _NONE[1] * n)
    return Null(mean, np.divide(mean**2, variance, out=np.full(len(mean), np.inf), where=varies))


def _margin(n: int, values: Ints, inverse: Floats | float) -> tuple[Floats, Floats]:
    r = values.astype(np.float64)
    return (n - r) * (r - 1) / (n - 1), (n * inverse - r**2) / (n - 2)

"""Pure numbers about artifacts and results, used alike by searches and reports."""

from modicum.measures.certificate import Certificate, certify
from modicum.measures.intervals import Resampling, mean_interval, share_interval

__all__ = ["Certificate", "Resampling", "certify", "mean_interval", "share_interval"]

"""Pure numbers about artifacts and results, used alike by searches and reports."""

from modicum.measures.certificate import Certificate, certify
from modicum.measures.intervals import Resampling, share_interval

__all__ = ["Certificate", "Resampling", "certify", "share_interval"]

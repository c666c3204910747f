from .adult import load_adult
from .dataset import Dataset

__all__ = ["Dataset", "load_adult"]

"""PitProps: 13 measurements on 180 pit props, as correlations. Ships with the package."""

from sparseigen.datasets import load_pitprops as load

__all__ = ["load"]

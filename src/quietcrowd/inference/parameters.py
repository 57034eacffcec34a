"""Parameters of a method by their names, as scikit-learn and what is built on it ask for them."""

from __future__ import annotations

from typing import Any, Self

from attrs import evolve, fields_dict

from quietcrowd.validation import check_names

__all__ = ["Parameters"]


class Parameters:
    """What scikit-learn asks of an estimator, for a frozen class of attrs.

    A method is a value: nothing changes it. So `clone` gives the method itself, and `set_params`
    another one, where scikit-learn's estimators change.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters by name; `deep` changes nothing, a method holds no other.

        Examples
        --------
        >>> import quietcrowd as qc
        >>> qc.WeightedVote(smoothing=2.0).get_params()["smoothing"]
        2.0
        """
        kind: Any = type(self)
        return {name: getattr(self, name) for name in fields_dict(kind)}

    def set_params(self, **parameters: Any) -> Self:
        """Return the method with other parameters; this one stays as it is.

        Raises
        ------
        ParameterError
            Where a name is none of a parameter, or a value breaks its rule.

        Examples
        --------
        >>> import quietcrowd as qc
        >>> vote = qc.WeightedVote()
        >>> vote.set_params(smoothing=3.0).smoothing, vote.smoothing
        (3.0, 1.0)
        """
        known: Any = type(self)
        check_names(known.name, parameters, list(fields_dict(known)))
        changed: Any = self
        return evolve(changed, **parameters)  # type: ignore[no-any-return]

    def clone(self) -> Self:
        """Return a method with the same parameters that knows no data: this one."""
        return self

    def __sklearn_clone__(self) -> Self:
        return self.clone()

"""Options of metrics: each is stated once, with its check, its default and its words.

From a table of options come the arguments of ``compute``, their description, the command line and the signature. This
file imports neither numpy nor evaluate, so that help texts are made at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from .mistakes import Refused, quote

_LARGEST = 2**31 - 1


def _unchecked(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Option:
    """An option of ``compute``.

    Attributes
    ----------
    name : str
    kind : str
        Its type and choices, as numpydoc writes them.
    default : object
    text : str
        Its effect, in one or more sentences.
    check : callable
        From a given value to the value that is used; raises `Refused`.
    choices : tuple of str
        The names it takes, if these are all.
    is_flag : bool
    form : {"value", "list", "file"}
        The form of a value outside Python: a single value, a list or a dict (JSON, or an item a line), or the path of a
        file, which the metric opens.
    """

    name: str
    kind: str
    default: Any
    text: str
    check: Callable[[Any], Any] = _unchecked
    choices: tuple[str, ...] = ()
    is_flag: bool = False
    form: str = "value"

    def read(self, value: Any) -> Any:
        """Check a value.

        Raises
        ------
        ValueError
            With the name of the option, the value and what was expected.
        """
        try:
            return self.check(value)
        except Refused as refused:
            raise refused.at(self.name) from None

    def describe(self) -> str:
        """The option as an entry of a numpydoc section."""
        default = "optional" if self.default is None else f"default {self.default!r}".replace("'", '"')
        return f"{self.name} : {self.kind}, {default}\n{_indented(self.text)}"


def _indented(text: str) -> str:
    import textwrap

    return textwrap.fill(" ".join(text.split()), 116, initial_indent="    ", subsequent_indent="    ")


Options = dict[str, Option]


def table(*options: Option) -> Options:
    """Options by name."""
    return {option.name: option for option in options}


# --- kinds of options -------------------------------------------------------------------------------------------------


def choice(name: str, choices: tuple[str, ...], default: str, text: str) -> Option:
    """An option that takes one of a few names."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise Refused(f"{quote(value)} is not one of {', '.join(choices)}")
        return value

    return Option(name, "{" + ", ".join(f'"{each}"' for each in choices) + "}", default, text, check, choices)


def flag(name: str, text: str, default: bool = False) -> Option:
    """An option that is on or off."""

    def check(value: Any) -> bool:
        if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):
            raise Refused(f"{quote(value)} is not true or false")
        return bool(value)

    return Option(name, "bool", default, text, check, is_flag=True)


def read_number(value: Any, expected: str) -> float:
    """A real number that is not NaN, or `Refused`."""
    if isinstance(value, bool) or type(value).__name__ == "bool_" or not isinstance(value, Real) or value != value:
        raise Refused(f"{quote(value)} is not {expected}")
    try:
        return float(value)
    except OverflowError:
        raise Refused(f"{quote(value)} is not {expected}") from None


def number(
    name: str,
    kind: str,
    default: float | None,
    text: str,
    minimum: float,
    maximum: float,
    expected: str,
) -> Option:
    """An option that takes a number from `minimum` to `maximum`, both included; None only if that is its default."""

    def check(value: Any) -> float | None:
        if value is None and default is None:
            return None
        found = read_number(value, expected)
        if not minimum <= found <= maximum:
            raise Refused(f"{quote(value)} is not {expected}")
        return found

    return Option(name, kind, default, text, check)


def whole_number(name: str, default: int, text: str, expected: str, minimum: int = 0) -> Option:
    """An option that takes a whole number of at least `minimum` that fits into 32 bits."""
    words = f"{expected} (a whole number from {minimum})"

    def check(value: Any) -> int:
        is_number = isinstance(value, (Integral, Real)) and not isinstance(value, bool)
        if not is_number or not minimum <= value < math.inf or int(value) != value:
            raise Refused(f"{quote(value)} is not {words}")
        if value > _LARGEST:
            raise Refused(f"{quote(value)} is too large, expected {words}, at most {_LARGEST}")
        return int(value)

    return Option(name, "int", default, text, check)


# --- options that all metrics have ------------------------------------------------------------------------------------

ABOVE_ZERO, BELOW_ONE = math.ulp(0.0), math.nextafter(1.0, 0.0)


def _read_groups(value: Any) -> list[str] | None:
    expected = "a list of keys, one a reference"
    if value is None:
        return None
    if isinstance(value, Set):
        raise Refused(f"{quote(value)} has no order, expected {expected}")
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise Refused(f"{quote(value)} is not {expected}")
    keys = []
    for at, key in enumerate(value):
        if isinstance(key, bool) or not isinstance(key, (str, Integral)):
            raise Refused(f"{quote(key)} is not a key (text or a whole number)", at)
        keys.append(str(key))
    return keys


def confidence_options(record: str, more: str = "") -> Options:
    """The options of confidence intervals.

    Parameters
    ----------
    record : str
        The word for the resampled records, in the plural.
    more : str
        Another sentence on `groups`.
    """
    return table(
        number(
            "confidence_level",
            "float in (0, 1)",
            None,
            "Adds ``confidence_intervals``, ``[low, high]`` of each headline score, by resampling "
            f"{record} with replacement. Adds ``detectable_differences``: the smallest difference in each of these "
            f"scores that a paired test of two systems on as many {record} shows with a power of 80 %, if their errors "
            "are independent.",
            ABOVE_ZERO,
            BELOW_ONE,
            "a number above 0, below 1",
        ),
        whole_number("n_resamples", 1000, "Number of resamples.", "a number of resamples", 1),
        whole_number("random_state", 0, "Seed of the resamples.", "a seed"),
        choice(
            "interval_method",
            ("percentile", "bca"),
            "percentile",
            "Quantiles of the resampled scores, or quantiles corrected for bias and skewness (Efron 1987).",
        ),
        Option(
            "groups",
            "list of keys, one a reference",
            None,
            f"Key of the group of each reference. The {record} of one group are resampled together. {more}".strip(),
            _read_groups,
            form="list",
        ),
    )


def output_options(counts: str, errors: str) -> Options:
    """The options of the form of the result: counts of each document, items in error, and one level of numbers."""
    return table(
        flag("per_document", f"Adds {counts}."),
        flag("return_errors", f"Adds {errors}."),
        flag(
            "flat",
            "Gives the numbers of the result in one level, for loggers: names are joined by ``/``, such as "
            "``confidence_intervals/f1/low``, and all that is no number is left out.",
        ),
    )


def read_options(
    given: Mapping[str, Any], options: Options, metric: str, defaults: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """All options of a metric: the given ones checked, the others at their defaults.

    Parameters
    ----------
    given : dict
    options : Options
    metric : str
        Its name, for errors.
    defaults : dict, optional
        Checked values that take the place of the options' own defaults.

    Raises
    ------
    ValueError
        If an option is unknown, or its value is not one that it takes; the message names the choices.
    """
    for name in given:
        if name not in options:
            raise ValueError(f"{name}: not an option of {metric}, expected one of {', '.join(options)}")
    defaults = {name: option.default for name, option in options.items()} | dict(defaults or {})
    return {name: option.read(given[name]) if name in given else defaults[name] for name, option in options.items()}


def describe_options(options: Options) -> str:
    """All options as entries of a numpydoc section."""
    return "\n".join(option.describe() for option in options.values())

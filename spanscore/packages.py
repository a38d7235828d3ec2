"""Optional packages: how to import them, and the message when one is missing."""

from __future__ import annotations

import importlib
from typing import Any


class MissingPackage(ImportError):
    """An optional package is not installed. The message is one line that names the ``pip install``."""


def optional_package(module: str, users: str, extra: str) -> Any:
    """Import a module of an optional package.

    Parameters
    ----------
    module : str
        Such as ``"lxml.etree"``.
    users : str
        What needs the package, in the plural, for the message: ``"reports"``.
    extra : str
        The extra of spanscore that installs the package.

    Returns
    -------
    module

    Raises
    ------
    MissingPackage
        The package is not installed.
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise MissingPackage(f"{users} need {package}: pip install 'spanscore[{extra}]'") from None

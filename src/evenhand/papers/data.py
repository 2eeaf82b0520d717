"""Real data that a user has: what a file or folder holds, recognized by the files in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenhand.core.errors import DataError

#: Kind of data → files of which one must be there.
KINDS = {
    "movielens": ("ratings.csv", "ratings.dat", "u.data"),
    "outbrain": ("clicks_train.csv",),
    "coupons": ("coupon_visit_train.csv",),
    "yeast": ("yeast.csv.gz", "yeast.csv"),
    "conversions": (),
}
#: Kinds that are a file and no folder.
SINGLE = ("coupons", "yeast")
#: Kind of data → what it consists of, for people.
NEEDED = {
    "movielens": "a copy of MovieLens (ratings.csv and movies.csv, ratings.dat and movies.dat, or u.data and u.item)",
    "outbrain": "Outbrain Click Prediction (clicks_train.csv, promoted_content.csv and documents_categories.csv)",
    "coupons": "Coupon Purchase Prediction (coupon_visit_train.csv)",
    "yeast": "the Yeast data (yeast.csv.gz, which the package river bundles)",
    "conversions": "the conversion log (a tab-separated file)",
}


def recognised(paths: Sequence[Path]) -> dict[str, Path]:
    """What the user's files and folders hold, by kind: the folder, or the file itself for a single file."""
    found: dict[str, Path] = {}
    for path in paths:
        kind, place = _kind(path)
        if kind in found:
            raise DataError(f"{path} and {found[kind]} both hold {kind} data; give one of them")
        found[kind] = place.resolve()
    return found


def _kind(path: Path) -> tuple[str, Path]:
    if not path.exists():
        raise DataError(f"there is no file or folder {path}")
    if path.is_file():
        for kind, names in KINDS.items():
            if path.name in names:
                return kind, path if kind in SINGLE else path.parent
        return "conversions", path
    for kind, names in KINDS.items():
        for name in names:
            if (path / name).is_file():
                return kind, path / name if kind in SINGLE else path
    logs = [file for file in sorted(path.iterdir()) if file.suffix in (".tsv", ".txt", ".csv") and "conv" in file.name]
    if len(logs) == 1:
        return "conversions", logs[0]
    known = ", ".join(name for names in KINDS.values() for name in names)
    raise DataError(f"{path} holds no data that an experiment is about; known files: {known}, or give a conversion log")

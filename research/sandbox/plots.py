"""matplotlib in a sealed process: imports it and opens its fonts before the process is sealed."""

from __future__ import annotations

import io
import logging
import os
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from research.sandbox.job import PLOT_BYTES, PLOTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 100
_SIDES = (1600, 800, 500, 300)
"""Pixels of the longer side, tried in this order until the file is small enough."""
_FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts")
_CHINESE = {
    "NotoSansCJK-Regular.ttc": 2,
    "NotoSansCJKsc-Regular.otf": 0,
    "NotoSansSC-Regular.otf": 0,
    "SourceHanSansSC-Regular.otf": 0,
    "NotoSerifCJK-Regular.ttc": 2,
    "wqy-microhei.ttc": 0,
    "wqy-zenhei.ttc": 0,
}
"""Chinese font files, best first, with the index of the simplified Chinese face in each."""


def prepare(code: str) -> None:
    """Import matplotlib and open the fonts that `code` may need.  Takes about a second."""
    os.environ.update(MPLBACKEND="Agg", MPL_IGNORE_SYSTEM_FONTS="1")
    with tempfile.TemporaryDirectory() as folder:  # matplotlib writes a cache of its fonts
        os.environ["MPLCONFIGDIR"] = folder
        import matplotlib.pyplot as plt
    import matplotlib.dates
    import matplotlib.ticker  # noqa: F401
    from matplotlib import font_manager

    chinese = _chinese() if any(character >= "\u2e80" for character in code) else []
    opened: dict[str, Any] = {}
    for entry in font_manager.fontManager.ttflist:
        font = font_manager.get_font([font_manager.FontPath(entry.fname, entry.index), *chinese])
        # Under both names: an environment may be reached through a link, and matplotlib asks by either.
        opened |= {entry.fname: font, os.path.realpath(entry.fname): font}

    def opened_font(paths: tuple[tuple[str, int], ...], **_: Any) -> Any:
        return opened[paths[0][0]]

    def is_opened(path: object) -> bool:
        return str(path) in opened

    # matplotlib looks up and reopens a font's file for each size and list of families.
    vars(font_manager)["_get_font"] = opened_font
    os.path.isfile = os.path.exists = is_opened
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it warns about every missing font
    warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")  # code usually calls plt.show()
    figure, axes = plt.subplots()
    axes.plot([1, 2], label="$x^2$")
    axes.legend()
    _as_png(figure)  # drawing imports further modules
    plt.close(figure)


def _chinese() -> list[Any]:
    from matplotlib.font_manager import FontPath

    found = {name: folder for top in _FONT_FOLDERS for folder, _, names in os.walk(top) for name in names}
    return [FontPath(str(Path(found[name], name)), face) for name, face in _CHINESE.items() if name in found][:1]


def open_figures() -> tuple[tuple[bytes, ...], str]:
    """Return the open figures as PNG, and a note about them for the output; both are empty without figures."""
    import matplotlib.pyplot as plt

    numbers = plt.get_fignums()
    drawn = [_as_png(plt.figure(number)) for number in numbers[:PLOTS]]
    images = tuple(image for image in drawn if image)
    if not numbers:
        return (), ""
    note = f"{len(images)} plot{'s' * (len(images) != 1)} shown to the user"
    if len(images) < len(numbers):
        note += f", {len(numbers) - len(images)} left out: at most {PLOTS}, each below {PLOT_BYTES // 1000} kB"
    return images, f"[{note}]"


def _as_png(figure: Figure) -> bytes:
    """Return the figure as PNG at the highest resolution below `PLOT_BYTES`; empty if all are too big."""
    inches = max(figure.get_size_inches())
    for side in _SIDES:
        picture = io.BytesIO()
        figure.savefig(picture, format="png", dpi=min(_DPI, side / inches))
        if picture.tell() <= PLOT_BYTES:
            return picture.getvalue()
    return b""

"""Drawing for code in a sealed process: matplotlib, its fonts opened while that is possible."""

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
"""Files of fonts with Chinese, best first, and the place of the simplified face in them."""


def prepare(code: str) -> None:
    """Import matplotlib and open the fonts that `code` may need.  Takes about a second."""
    os.environ.update(MPLBACKEND="Agg", MPL_IGNORE_SYSTEM_FONTS="1")
    with tempfile.TemporaryDirectory() as folder:  # it wants to write down its list of fonts
        os.environ["MPLCONFIGDIR"] = folder
        import matplotlib.pyplot as plt
    import matplotlib.dates
    import matplotlib.ticker  # noqa: F401
    from matplotlib import font_manager

    chinese = _chinese() if any(character >= "\u2e80" for character in code) else []
    held = {
        os.path.realpath(entry.fname): font_manager.get_font(
            [font_manager.FontPath(entry.fname, entry.index), *chinese]
        )
        for entry in font_manager.fontManager.ttflist
    }

    def held_font(paths: tuple[tuple[str, int], ...], **_: Any) -> Any:
        return held[paths[0][0]]

    def is_held(path: object) -> bool:
        return str(path) in held

    # matplotlib looks for the file of a font, and opens it, once more for each size and each list of families.
    vars(font_manager)["_get_font"] = held_font
    os.path.isfile = os.path.exists = is_held
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells of every font that is not there
    warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")  # plt.show() is what code does
    figure, axes = plt.subplots()
    axes.plot([1, 2], label="$x^2$")
    axes.legend()
    _drawn(figure)  # the drawing imports too
    plt.close(figure)


def _chinese() -> list[Any]:
    from matplotlib.font_manager import FontPath

    found = {name: folder for top in _FONT_FOLDERS for folder, _, names in os.walk(top) for name in names}
    return [FontPath(str(Path(found[name], name)), face) for name, face in _CHINESE.items() if name in found][:1]


def collected() -> tuple[tuple[bytes, ...], str]:
    """The figures that are open, as PNG, and what to say of them."""
    import matplotlib.pyplot as plt

    numbers = plt.get_fignums()
    drawn = [_drawn(plt.figure(number)) for number in numbers[:PLOTS]]
    images = tuple(image for image in drawn if image)
    if not numbers:
        return (), ""
    said = f"[{len(images)} plot{'s' * (len(images) != 1)} shown to the user]"
    if len(images) < len(numbers):
        said = (
            f"{said[:-1]}, {len(numbers) - len(images)} left out: at most {PLOTS}, each below {PLOT_BYTES // 1000} kB]"
        )
    return images, said


def _drawn(figure: Figure) -> bytes:
    """As PNG, at the best resolution that is small enough; empty when none is."""
    inches = max(figure.get_size_inches())
    for side in _SIDES:
        picture = io.BytesIO()
        figure.savefig(picture, format="png", dpi=min(_DPI, side / inches))
        if picture.tell() <= PLOT_BYTES:
            return picture.getvalue()
    return b""

"""One report with every construct of Markdown that models write, and what its readers must find of it."""

from __future__ import annotations

from typing import Final

REPORT: Final = r"""# Energy *outlook*

Prices went from $5 and $6 to **$7**, about ~5 %, not ~~a third~~ a half; see [the report](https://data.example/a?b=1&c=2)
or https://bare.example/x_(y). Sources differ[^why] 🚀, and **“引文”**由模型写成。Done [1].

| Name | Middle | Right |
|:-----|:------:|------:|
| left cell | `a \| b` | 3.7 |
| 第二行 | $x_i$ | **4** |

- [ ] open task
- [x] closed task
  - inner bullet

    3. third of a list

       with a paragraph

```python
if a < b and "![p](https://evil.example/p)":
    print("$5")  # *code*
```

> A quotation
> > in a quotation
>
> - with a list

The energy is $E = mc^2$, and \(\alpha \le \beta\) holds for x in $[0, 1]$:

$$
\frac{a+b}{2}
+ \sqrt{c}
$$

\[ \sum_{i=1}^{n} i = \frac{n(n+1)}{2} \]

<b onclick="x()">Not bold</b> &amp; :red[not red] :material/check: 中文字体，English 混排。

---

[^why]: A **note** about the difference.
"""

TEXT: Final = (
    "Energy", "outlook", "from $5 and $6 to", "$7", "about ~5 %", "a third", "the report", "https://bare.example/x_(y)",
    "🚀", "“引文”", "由模型写成。", "Name", "Middle", "left cell", "a | b", "第二行", "☐ open task", "☑ closed task",
    "inner bullet", "third of a list", "with a paragraph", 'if a < b and "![p](https://evil.example/p)":', "# *code*",
    "A quotation", "in a quotation", "with a list", '<b onclick="x()">Not bold</b> & :red[not red] :material/check:',
    "中文字体，English 混排。", "differᵃ", "ᵃ A note about the difference.",
)  # fmt: skip
"""Pieces of the text as a reader sees it, wherever it is drawn."""
MARKUP: Final = ("~~", "**", "```", "|---", ":--", "[^", "[ ]", "[x]", "$$", r"\frac", r"\(", r"\[", "mc^2", "\\alpha")
"""Markup that no reader may see."""
FORMULAS: Final = ("x_i", "E = mc^2", r"\alpha \le \beta", "[0, 1]", r"\frac{a+b}{2} + \sqrt{c}",
                   r"\sum_{i=1}^{n} i = \frac{n(n+1)}{2}")  # fmt: skip
LINES: Final = ("E = mc²", "α ≤ β", "(a + b)/2 + √c", "= (n(n + 1))/2")
"""The formulas as text."""

"""The page Check a report: the form, the result, and what it offers next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from research import audit
from research.config.settings import load
from research.workbench.workbench import Workbench

Visit = Callable[..., AppTest]
REPORT = "# Ports\n\nHamburg moved 8 million boxes in 2023 [1].\n\n## Sources\n[1] Ports of the sea, 2023."


def test_an_empty_report_is_refused_with_a_reason(visit: Visit, home: Path) -> None:
    app = visit(home, "check")
    assert not app.exception
    app.button(key="check-start").click().run()
    assert "the report is empty" in app.error[0].value


def test_the_result_says_what_to_fix_first_and_offers_a_corrected_copy(visit: Visit, home: Path) -> None:
    view = audit(REPORT, workbench=Workbench(load(home=home)))
    app = visit(home, "check", run=view.run)
    assert not app.exception
    shown = "\n".join(element.value for element in [*app.markdown, *app.subheader])
    assert "No statement of this report could be judged." in shown
    assert "Fix first" in shown and "Hamburg moved 8 million boxes" in shown
    assert app.button(key="check-research").label == "Research what broke"
    assert not [each for each in app.text_input if each.label == "Follow-up question"]

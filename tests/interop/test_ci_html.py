"""The page that a real run writes, in a headless browser: it shows the run, and it asks for nothing."""

import pytest
from selenium.webdriver.common.by import By

from ci_run import DONE, INPUT, VERDICT, CaseRunner, node
from pages import browser, usual_browser  # noqa: F401: fixtures

EXPECT = """
[[expect]]
topic = "/answer"
count = { min = 1 }
"""


@pytest.fixture
def run(tmp_path, demo):
    return CaseRunner(tmp_path, demo.topics[INPUT].hash)


def lanes(browser) -> dict[str, list[str]]:
    """The rows of the timeline by their first word or words, and their numbers."""
    rows = [lane.text.split("\n") for lane in browser.find_elements(By.CSS_SELECTOR, ".lanes .row")]
    return {row[0]: row[1:] for row in rows}


def body(browser) -> str:
    return browser.find_element(By.TAG_NAME, "body").text


def test_a_run_with_gates_is_shown(run, browser, tmp_path):
    expect, page = tmp_path / "expect.toml", tmp_path / "page.html"
    expect.write_text(EXPECT)
    flags = ("--gate", "/imu -> /answer", "--gate", "tick 100ms -> /timer", "--expect", expect, "--html", page)
    case = run(*flags, command=node(), end="+0.3s")
    assert case.exit == DONE, case.stderr
    browser.get(page.as_uri())
    assert browser.title.startswith("passed: ")
    counts = case.counts()
    shown = lanes(browser)
    for topic in ("/answer", "/timer"):
        assert shown[topic] == [str(counts[topic])], shown
    assert shown["/imu"] == [str(counts["/answer"])], shown
    assert "/imu -> /answer" in shown, shown
    for lane in browser.find_elements(By.CSS_SELECTOR, ".lanes .row"):
        assert lane.find_element(By.TAG_NAME, "svg").size["width"] > 500
    # A plot of latencies for each gate, with something in it.
    plots = browser.find_elements(By.CSS_SELECTOR, ".gate .view")
    assert len(plots) == 2
    for plot in plots:
        assert plot.find_elements(By.CSS_SELECTOR, "path, circle, rect"), plot.get_attribute("outerHTML")
    text = body(browser)
    for check in case.report["checks"]:
        assert check["name"] in text, check
    assert case.digest in text


def test_repetitions_that_diverge_are_shown(run, browser, tmp_path):
    page = tmp_path / "page.html"
    flags = ("--lockstep", "--repeat", "2", "--html", page)
    case = run(*flags, command=node("--differ-at", "20"), end="+0.3s")
    assert case.exit == VERDICT, case.stderr
    divergence = case.report["divergence"]
    assert (divergence["topic"], divergence["index"], divergence["field"]) == ("/answer", 20, "data")
    browser.get(page.as_uri())
    assert browser.title.startswith("failed: ")
    text = body(browser)
    assert "First difference" in text and "/answer" in text and divergence["field"] in text
    for value in divergence["values"]:
        assert value in text, (value, text)
    assert "all repetitions have equal outputs" in text
    for digest in case.report["repeated"]["digests"]:
        assert digest[:8] in text, digest
    assert {"/imu", "/answer", "/timer"} <= set(lanes(browser))

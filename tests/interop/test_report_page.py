"""The page that shows a run, in a headless browser: the example `report_page` writes it from records made here."""

import copy
import json
import math
import os
import subprocess
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.ui import WebDriverWait

from pages import axis, browser, usual_browser, width_of_view  # noqa: F401: fixtures
from player import HOUSE

EXAMPLE = Path(os.environ.get("REPORT_PAGE_BIN", HOUSE / "target/debug/examples/report_page"))
HOSTILE = "</script><script>alert(1)</script>\" onmouseover=\"alert(2)\" <img src=x onerror=alert(3)>"
TICK = 100_000_000


def failed_run() -> dict:
    """300 questions in 30 s, three of them given up, and a field that differs from message 124 on."""
    run = json.loads((HOUSE / "tests/data/ci/run.json").read_text())
    start = run["played_ns"][0]
    for number in range(300):
        at = start + number * TICK
        gate = "/points -> /odom by stamp"
        took = 212.5 if number == 187 else 8 + math.sin(number)
        moments = [("input", "/points", None), ("answer", gate, took), ("output", "/odom", None)]
        if 124 <= number < 127:
            moments.append(("miss", "/points -> /obstacles", None))
        for what, of, took in moments:
            moment = {"log_ns": at, "wall_ms": number * 14.0, "what": what, "of": of}
            run["timeline"].append(moment if took is None else moment | {"took_ms": took})
    reference = [[start + number * TICK, 0.02 * math.sin(number / 9)] for number in range(84, 184)]
    own = [[at, value + (0.17 if at >= start + 124 * TICK else 0)] for at, value in reference]
    own[60][1] = "NaN"
    run["divergence"]["series"] = [reference, own]
    return run


def passed_run() -> dict:
    run = failed_run()
    run["checks"] = [check for check in run["checks"] if check["verdict"] == "passed"]
    run["timeline"] = [moment for moment in run["timeline"] if moment["what"] != "miss"]
    return run | {"divergence": None, "differences": [], "repeated": None, "exit_code": 0}


def poisoned(value):
    if isinstance(value, str):
        return HOSTILE
    if isinstance(value, list):
        return [poisoned(item) for item in value]
    if isinstance(value, dict):
        words = {"pacing", "kind", "verdict", "what", "series", "schema"}
        return {name: item if name in words else poisoned(item) for name, item in value.items()}
    return value


@pytest.fixture
def show(browser, tmp_path):
    def show(*runs: dict) -> str:
        records, page = tmp_path / "runs.ndjson", tmp_path / "page.html"
        records.write_text("".join(json.dumps(run) + "\n" for run in runs))
        told = subprocess.run([EXAMPLE, records, page], check=True, capture_output=True, text=True, timeout=60)
        browser.get(page.as_uri())
        return told.stdout

    return show


def test_a_failed_run_is_shown(browser, show):
    told = show(failed_run())
    assert told.startswith("failed: warehouse: ") and told.endswith("exit code: 4\n")
    assert browser.title == "failed: warehouse"
    text = browser.find_element(By.TAG_NAME, "body").text
    for expected in (
        "Failed", "3 of 300 questions were given up", "6,301", "First difference", "0.18730517882", "31.7 ms",
        "falling back to the motion prior", "/imu/data is not gated", "a41f09c2b7d85e6310fe92c47ab0d1e5",
    ):
        assert expected in text, expected
    lanes = browser.find_elements(By.CSS_SELECTOR, ".lanes .row")
    shown = [lane.text.replace("\n", " ") for lane in lanes]
    assert shown == [
        "/points 300", "/points -> /obstacles 3 missed 297", "/points -> /odom by stamp 300", "/odom 300",
    ]
    assert all(lane.find_element(By.TAG_NAME, "svg").size["width"] > 500 for lane in lanes)
    assert axis(browser) == ["0 s", "5 s", "10 s", "15 s", "20 s", "25 s", "30 s"]


def test_marks_are_where_they_belong_on_the_screen(browser, show):
    show(failed_run())
    view = browser.find_element(By.CSS_SELECTOR, ".lanes .view:has(.missed)")
    missed = view.find_element(By.CSS_SELECTOR, ".missed")
    part = (missed.rect["x"] - view.rect["x"]) / view.rect["width"]
    assert part == pytest.approx(12.4 / 30, abs=0.005)
    # The line of this run is above that of the reference after the difference.
    lines = ".difference .reference[data-name]", ".difference .own[data-name]"
    reference, own = (browser.find_element(By.CSS_SELECTOR, line).rect for line in lines)
    assert own["y"] < reference["y"] - 50 and own["height"] > 80


def test_buttons_keys_and_dragging_zoom_all_plots_of_the_run(browser, show):
    show(failed_run())
    button = lambda name: browser.find_element(By.CSS_SELECTOR, f"section.over > .head [data-zoom={name}]")
    assert width_of_view(browser) == 1 and not button("all").is_enabled()
    button("in").click()
    assert width_of_view(browser) == pytest.approx(0.5)
    assert width_of_view(browser, ".gate .view") == pytest.approx(0.5)
    # The plot of the difference has a time of its own.
    assert width_of_view(browser, ".difference .view") == 1
    assert axis(browser) == ["10 s", "15 s", "20 s"]
    assert browser.find_element(By.CSS_SELECTOR, "section.over > .head .range").text == "7.5 s – 22.5 s"
    button("out").click()
    assert width_of_view(browser) == 1

    plot = browser.find_element(By.CSS_SELECTOR, ".lanes")
    browser.execute_script("arguments[0].focus()", plot)
    ActionChains(browser).send_keys("++").send_keys(Keys.ARROW_RIGHT).perform()
    assert width_of_view(browser) == pytest.approx(0.25)
    ActionChains(browser).send_keys("0").perform()
    assert width_of_view(browser) == 1

    view = browser.find_element(By.CSS_SELECTOR, ".lanes .view")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    quarter = int(view.rect["width"] / 4)
    drag = ActionChains(browser).move_to_element_with_offset(view, -quarter, 0).click_and_hold()
    drag.move_by_offset(quarter, 0).perform()
    assert browser.find_element(By.CSS_SELECTOR, ".lanes .selection").is_displayed()
    ActionChains(browser).release().perform()
    assert width_of_view(browser) == pytest.approx(0.25, abs=0.01)
    assert not browser.find_element(By.CSS_SELECTOR, ".lanes .selection").is_displayed()
    ActionChains(browser).double_click(view).perform()
    assert width_of_view(browser) == 1


def test_no_zoom_leaves_the_log(browser, show):
    show(failed_run())
    browser.execute_script("document.querySelector('.lanes').focus()")
    ActionChains(browser).send_keys("+" * 40).send_keys(Keys.ARROW_LEFT * 8).perform()
    x, _, width, _ = map(float, browser.find_element(By.CSS_SELECTOR, ".lanes .view").get_dom_attribute("viewBox").split())
    assert 0 <= x and 0 < width and x + width <= 1e6 and axis(browser)
    ActionChains(browser).send_keys("0").send_keys(Keys.ARROW_RIGHT * 3).perform()
    assert width_of_view(browser) == 1


def test_the_pointer_tells_topic_time_and_value(browser, show):
    show(failed_run())
    tip = lambda plot: browser.find_element(By.CSS_SELECTOR, f"{plot} .tip").text
    view = browser.find_element(By.CSS_SELECTOR, ".lanes .view")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", view)
    ActionChains(browser).move_to_element(view).perform()
    assert tip(".lanes") == "/points at 15.000 s"
    slow = browser.find_element(By.CSS_SELECTOR, ".gate:last-of-type .view")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", slow)
    box = slow.rect
    path = slow.find_element(By.CSS_SELECTOR, ".dots").get_attribute("d")
    x, y = path.split("M")[188].removesuffix("h0").split()
    offset = round((int(x) / 1e6 - 0.5) * box["width"]), round((int(y) / 1e4 - 0.5) * box["height"])
    ActionChains(browser).move_to_element_with_offset(slow, *offset).perform()
    assert tip(".gate:last-of-type").startswith("answer: 212.") and tip(".gate:last-of-type").endswith(" ms at 18.700 s")


@pytest.mark.parametrize("width", [390, 320, 820])
def test_nothing_is_wider_than_a_small_screen(browser, show, width):
    runs = failed_run(), passed_run()
    long = failed_run()
    long["name"] = long["checks"][3]["name"] = "/a" * 200
    long["checks"][3]["reason"] = "x" * 500
    long["timeline"] += [moment | {"of": "/topic" * 40} for moment in long["timeline"][:9]]
    for shown in ([runs[0]], [long], [*runs, long]):
        metrics = {"width": width, "height": 844, "deviceScaleFactor": 2, "mobile": True}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        show(*shown)
        browser.execute_script("for (const run of document.querySelectorAll('details')) run.open = true")
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, browser.execute_script(
            "return [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > innerWidth)"
            ".map((one) => one.outerHTML.slice(0, 80))"
        )


def test_without_scripts_everything_is_there_but_the_controls(browser, show):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    show(failed_run())
    lanes = browser.find_elements(By.CSS_SELECTOR, ".lanes .row")
    assert len(lanes) == 4 and "/points -> /obstacles" in lanes[1].text
    assert axis(browser) == ["0 s", "5 s", "10 s", "15 s", "20 s", "25 s", "30 s"]
    assert not any(controls.is_displayed() for controls in browser.find_elements(By.CSS_SELECTOR, ".zoom"))


def test_script_and_page_draw_the_same_axis(browser, show):
    for seconds in (0.0005, 0.3, 7.7, 30, 119, 121, 400, 3700, 90_000):
        run = passed_run()
        start = run["played_ns"][0]
        end = start + int(seconds * 1e9)
        run |= {"played_ns": [start, end]}
        run["timeline"] = [{"log_ns": at, "wall_ms": 0, "what": "input", "of": "/a"} for at in (start, end)]
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        show(run)
        drawn = axis(browser)
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
        browser.refresh()
        assert axis(browser) == drawn and 3 <= len(drawn) <= 9, seconds


def zoom_in(browser, run: str):
    """Waits until the plots of a run are set up; their first control."""
    first = (By.CSS_SELECTOR, f"{run} section.over > .head [data-zoom=in]")
    return WebDriverWait(browser, 60).until(expected_conditions.element_to_be_clickable(first))


def test_hostile_names_are_text(browser, show):
    run = poisoned(failed_run()) | {"ended": "complete"}
    show(run, copy.deepcopy(run), passed_run())
    browser.execute_script("for (const run of document.querySelectorAll('details')) run.open = true")
    zoom_in(browser, "details.run")
    count = lambda selector: len(browser.find_elements(By.CSS_SELECTOR, selector))
    assert (count("script"), count("img"), count("[onmouseover]")) == (1, 0, 0)
    assert HOSTILE in browser.find_element(By.CSS_SELECTOR, ".checks th[scope=row]").text
    view = browser.find_element(By.CSS_SELECTOR, ".lanes .view")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", view)
    ActionChains(browser).move_to_element(view).perform()
    assert browser.find_element(By.CSS_SELECTOR, ".lanes .tip").text.startswith(HOSTILE)


def test_a_suite_of_200_runs_has_an_overview_that_leads_to_each(browser, show):
    runs = [passed_run() | {"name": f"case {number:03}"} for number in range(200)]
    runs[31] = failed_run() | {"name": "case 031"}
    runs[77] |= {"ended": "interrupted", "exit_code": 143}
    # The exit code is that of the interrupted run: the reports begin with it.
    assert "1 of 200 runs were interrupted, first case 077" in show(*runs)
    assert len(browser.find_elements(By.CSS_SELECTOR, ".strip a")) == 200
    rows = browser.find_elements(By.CSS_SELECTOR, ".runs tbody tr")
    assert [row.text.split("\n")[0].split(" all")[0] for row in rows[:3]] == [
        "■ interrupted case 077 interrupted after 4.21 s 4.21 s a41f09c2",
        "✕ failed case 031 /points -> /obstacles: 3 of 300 questions were given up, the first at 12.400 s: no message on /obstacles within 10 s (and 2 more) 4.21 s a41f09c2",
        "✓ passed case 000",
    ]
    browser.find_element(By.CSS_SELECTOR, ".filter input").send_keys("case 14")
    assert sum(row.is_displayed() for row in rows) == 10
    link = browser.find_element(By.LINK_TEXT, "case 145")
    link.click()
    section = browser.find_element(By.ID, "run-145")
    assert section.is_displayed() and "all 6 checks hold" in section.text
    # Its plots are set up when it is opened, in an event of its own.
    zoom_in(browser, "#run-145").click()
    assert width_of_view(browser, "#run-145 .lanes .view") == pytest.approx(0.5)


CONTRAST = """
const channels = (color) => color.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
  .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
const behind = (one) => {
  for (; one; one = one.parentElement) {
    const color = channels(getComputedStyle(one).backgroundColor);
    if (color[3] !== 0) return color;
  }
  return [255, 255, 255];
};
const poor = [];
for (const one of document.querySelectorAll("body *")) {
  const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  if (!own || one.matches("script, :disabled") || !one.getClientRects().length) continue;
  const style = getComputedStyle(one);
  const [a, b] = [light(channels(one.closest("svg") ? style.fill : style.color)), light(behind(one))];
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (contrast < 4.5) poor.push(`${contrast.toFixed(2)}: ${one.outerHTML.slice(0, 100)}`);
}
return poor;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(browser, show, scheme):
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    for runs in ([failed_run()], [passed_run()], [failed_run(), passed_run() | {"ended": "interrupted"}, passed_run() | {"ended": "failed"}]):
        show(*runs)
        paper = browser.find_element(By.TAG_NAME, "body").value_of_css_property("background-color")
        assert (int(paper.split("(")[1].split(",")[0]) < 128) == (scheme == "dark")
        browser.execute_script("for (const run of document.querySelectorAll('details')) run.open = true")
        assert browser.execute_script(CONTRAST) == []


def test_each_picture_has_a_name_and_each_control_is_reached_by_tab(browser, show):
    show(failed_run())
    pictures = browser.find_elements(By.CSS_SELECTOR, "svg:not([aria-hidden])")
    # Four lanes, two gates, the difference.
    assert len(pictures) == 7
    for picture in pictures:
        assert picture.get_attribute("role") == "img" and picture.get_attribute("aria-label")
    reached = set()
    for _ in range(40):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        focused = browser.switch_to.active_element
        reached.add(focused.get_attribute("data-zoom") or focused.get_attribute("class"))
    assert {"in", "plot lanes", "plot"} <= reached

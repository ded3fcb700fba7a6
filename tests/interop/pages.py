"""Pages in a headless Chromium; a page that sends a request or logs an error fails its test."""

import json
import os

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

BROWSER = os.environ.get("CHROMIUM_BIN", "/usr/bin/chromium")
DRIVER = os.environ.get("CHROMEDRIVER_BIN", "/usr/bin/chromedriver")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    profile = tmp_path_factory.mktemp("profile")
    for argument in (
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
        "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={profile}", "--window-size=1280,1000",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    # What the browser loads for its own first page does not count.
    driver.get("about:blank")
    driver.get_log("performance")
    yield driver
    driver.quit()


@pytest.fixture(autouse=True)
def usual_browser(browser):
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    yield
    # Whatever a test does, the page sends no request and logs no error.
    assert requests(browser) == []
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def requests(browser) -> list[str]:
    """The addresses that the browser asked for, but for the page itself."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"]
    return [url for url in sent if not url.startswith(("file:///", "data:"))]


def width_of_view(browser, which: str = ".lanes .view") -> float:
    """How much of the whole is shown: 1 at first."""
    box = browser.find_element(By.CSS_SELECTOR, which).get_dom_attribute("viewBox")
    return float(box.split()[2]) / 1e6


def axis(browser, plot: str = ".lanes") -> list[str]:
    return [text.text for text in browser.find_elements(By.CSS_SELECTOR, f"{plot} .grid text")]

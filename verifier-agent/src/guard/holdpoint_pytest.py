"""Holdpoint's plug-in for pytest: tells the observer what becomes of each test. PYTEST_DONT_REWRITE

`say`, `restore` and `Library` are put here before this runs.
"""

import sys

import pytest

PARTS = ("main", "outcomes", "pathlib", "python", "python_api", "raises", "reports", "runner", "unittest")

_raised = set()
_begun = set()
_left = []
_library = []


@pytest.hookimpl(tryfirst=True)
def pytest_addoption():
    restore()  # noqa: F821


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests():
    modules = [sys.modules.get("_pytest." + part) for part in PARTS]
    _library.append(Library([module for module in modules if module is not None]))  # noqa: F821


@pytest.hookimpl(tryfirst=True)
def pytest_keyboard_interrupt():
    _left.append("interrupted")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart(nodeid):
    _begun.add(nodeid)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    raised = call.excinfo is not None
    outcome = yield
    if raised and outcome.get_result().passed:
        # Other code has taken the exception away.
        _raised.add((item.nodeid, call.when))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    _begun.add(report.nodeid)
    if report.failed or (report.nodeid, report.when) in _raised:
        say("failed", report.nodeid)  # noqa: F821
    elif report.skipped and report.when != "teardown":
        say("skipped", report.nodeid)  # noqa: F821
    elif report.passed and report.when == "call" and not hasattr(report, "context"):
        # A report with a context is a part of a test.
        say("passed", report.nodeid)  # noqa: F821


@pytest.hookimpl(tryfirst=True)
def pytest_collectreport(report):
    if report.failed:
        say("failed", report.nodeid)  # noqa: F821
        say("uncollected")  # noqa: F821
    elif report.skipped:
        say("skipped", report.nodeid)  # noqa: F821


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_sessionfinish(session):
    yield
    if not session.config.getoption("collectonly", False):
        _left.extend(item.nodeid for item in getattr(session, "items", ()) if item.nodeid not in _begun)
    for library in _library:
        for name in library.replaced():
            say("replaced", name)  # noqa: F821
    # Green, and something was left out: that is no end.
    if int(session.exitstatus) != 0 or not _left:
        say("end", int(session.exitstatus))  # noqa: F821

"""Holdpoint's: tells the observer what the test runner in this process does.

Loaded before anything of the tree can be imported. What it says goes over a socket of its own and not over the output, each
message with a nonce that came over that socket. It says `armed` here, `passed`, `failed` or `skipped` and a name for each
test, `uncollected`, `replaced` and a name for each function of the library that is not what it was, and `end` with an exit code once the runner has its results and has left nothing out. The observer is
another process; it adds how this one really ended.
"""

import os
import sys

NAME_CHARS = 1000
NONCE_BYTES = 64


class Library(object):
    """The functions of a test library as they were before the tree was imported."""

    def __init__(self, modules):
        self.functions = {}
        for module in modules:
            owners = [module]
            owners += [it for it in vars(module).values() if isinstance(it, type) and it.__module__ == module.__name__]
            for owner in owners:
                for name, function in vars(owner).items():
                    if callable(getattr(function, "__func__", function)) and not isinstance(function, type):
                        self.functions[owner, name] = function

    def replaced(self):
        """Names of those that are not what they were. What installed packages put there is theirs."""
        for (owner, name), function in self.functions.items():
            now = vars(owner).get(name)
            if now is not function:
                code = getattr(getattr(now, "__func__", now), "__code__", None)
                if code is None or "-packages" not in code.co_filename:
                    yield "%s.%s" % (owner.__name__, name)


class Channel(object):
    """The way to the observer. It is silent in forked children, and where the tests have closed or replaced it."""

    def __init__(self, descriptor):
        os.set_inheritable(descriptor, False)
        self.descriptor = descriptor
        self.nonce = os.read(descriptor, NONCE_BYTES)
        self.process = os.getpid()
        self.is_it = os.fstat(descriptor)

    def say(self, word, text=""):
        if os.getpid() != self.process:
            return
        text = "%s %s" % (word, str(text)[:NAME_CHARS])
        try:
            if os.path.samestat(os.fstat(self.descriptor), self.is_it):
                os.write(self.descriptor, self.nonce + b" " + text.encode("utf-8", "backslashreplace"))
        except OSError:
            pass


def start(descriptor, runner):
    try:
        channel = Channel(descriptor)
    except OSError:
        # This is not the process that the observer has started.
        return
    if runner == "unittest":
        observe_unittest(channel.say)
    else:
        observe_pytest(channel.say)
    channel.say("armed")


def observe_unittest(say):
    """Puts a class of ours below the results of the outermost run."""
    from unittest import case, result, runner, suite

    make, run = runner.TextTestRunner._makeResult, runner.TextTestRunner.run
    running = []

    def _makeResult(self):
        made = make(self)
        if len(running) == 1:
            made.__class__ = noting(type(made), say)
        return made

    def observed(self, test):
        running.append(self)
        try:
            done = run(self, test)
        finally:
            running.pop()
        if not running:
            good = done.wasSuccessful()
            for name in library.replaced():
                say("replaced", name)
            # Asked to stop, and not by a failure: something is left that did not run.
            if not (good and done.shouldStop):
                say("end", 0 if good else 1)
        return done

    runner.TextTestRunner._makeResult, runner.TextTestRunner.run = _makeResult, observed
    library = Library([case, result, runner, suite])


def is_absent(test, err):
    """Whether there is nothing of the name that was asked for, and no error of what it imports is the reason."""
    last = str(err[1]).rstrip().rsplit("\n", 1)[-1]
    if not last.startswith("ModuleNotFoundError: No module named '") and " has no attribute '" not in last:
        return False
    name = getattr(test, "_testMethodName", "").rsplit(".", 1)[-1]
    return name != "" and last.endswith("'") and last[:-1].rsplit("'", 1)[-1].rsplit(".", 1)[-1] == name


def noting(kind, say):
    """A class of results like `kind` that says what becomes of each test before it is noted."""
    outcomes = {}

    def note(outcome, test):
        if id(test) not in outcomes:
            # A fixture of a class or module.
            say(outcome, test)
        elif outcomes[id(test)] != "failed":
            outcomes[id(test)] = outcome

    class Noting(kind):
        def startTest(self, test):
            # A test of which nothing is noted has not passed.
            outcomes[id(test)] = None
            kind.startTest(self, test)

        def stopTest(self, test):
            say(outcomes.pop(id(test), None) or "failed", test)
            kind.stopTest(self, test)

        def addSuccess(self, test):
            note("passed", test)
            kind.addSuccess(self, test)

        def addFailure(self, test, err):
            note("failed", test)
            kind.addFailure(self, test, err)

        def addError(self, test, err):
            if type(test).__name__ != "_FailedTest":
                note("failed", test)
            elif is_absent(test, err):
                # It was asked for by name: there is no test.
                note("absent", test)
            else:
                note("failed", test)
                say("uncollected")
            kind.addError(self, test, err)

        def addSkip(self, test, reason):
            note("skipped", getattr(test, "test_case", test))
            kind.addSkip(self, test, reason)

        def addExpectedFailure(self, test, err):
            note("skipped", test)
            kind.addExpectedFailure(self, test, err)

        def addUnexpectedSuccess(self, test):
            note("failed", test)
            kind.addUnexpectedSuccess(self, test)

        def addSubTest(self, test, subtest, err):
            if err is not None:
                note("failed", test)
            kind.addSubTest(self, test, subtest, err)

    Noting.__name__, Noting.__qualname__, Noting.__module__ = kind.__name__, kind.__qualname__, kind.__module__
    return Noting


def observe_pytest(say):
    """Has pytest load our plug-in, and only the outermost one."""
    from importlib import machinery, util

    name = "holdpoint_pytest"
    given = os.environ.get("PYTEST_ADDOPTS")

    def restore():
        if given is None:
            os.environ.pop("PYTEST_ADDOPTS", None)
        else:
            os.environ["PYTEST_ADDOPTS"] = given
        if Finder in sys.meta_path:
            sys.meta_path.remove(Finder)

    class Loader(machinery.SourceFileLoader):
        def exec_module(self, module):
            module.say, module.restore, module.Library = say, restore, Library
            machinery.SourceFileLoader.exec_module(self, module)

    class Finder(object):
        @staticmethod
        def find_spec(fullname, path=None, target=None):
            if fullname != name:
                return None
            file = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
            return util.spec_from_file_location(name, file, loader=Loader(name, file))

    sys.meta_path.insert(0, Finder)
    os.environ["PYTEST_ADDOPTS"] = ("%s -p %s" % (given or "", name)).strip()

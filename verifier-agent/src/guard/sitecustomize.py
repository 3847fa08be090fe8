"""Holdpoint's: sees to it that a check's Python imports what it would import without the new files of the work, and has
its test runner tell the observer of its tests.

A runner imports its own modules by name, and the tree under review may come before them on the path. So before anything
of the tree can be imported, this looks at every import that finds a module of a file that the base does not have. It ends
the process where code outside the tree asked for it by name, or where it stands in the place of a module of Python's.
In a run that is made for it, this notes which lines of some files run. Everything else is as if this was not here: it puts
the path and the environment back first.
"""

import os
import sys


def _restore(here):
    """The path as it would be: with the entries of PYTHONPATH at its beginning."""
    given = os.environ.pop("HOLDPOINT_PYTHONPATH", None)
    if given is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = given
    entries = []
    for entry in (given.split(os.pathsep) if given else []):
        entry = os.path.abspath(entry)
        if entry not in entries:
            entries.append(entry)
    others = [entry for entry in sys.path if os.path.abspath(entry) != here]
    sys.path[:] = entries + [entry for entry in others if entry not in entries]


def _chain():
    """Imports the module that this one hides, if there is one."""
    from importlib import machinery, util

    spec = machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _guard(root, new):
    from importlib import machinery
    from opcode import opmap

    # The runner may have turned its own away when there is something to say.
    stderr = os.dup(2)
    root = root.rstrip("/") + "/"
    library = os.path.dirname(os.__file__) + "/"
    statement = opmap["IMPORT_NAME"]

    def inside(path):
        return (os.path.abspath(path) + "/").startswith(root)

    def is_new(path):
        """Whether a path, or a link that it leads through, is new."""
        while path and path not in new:
            path = os.path.dirname(path)
        return bool(path)

    def importer():
        """Whose import this is, and whether it is written as a statement. Nothing: it is no import."""
        frame = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
            frame = frame.f_back
        plain = True
        while frame is not None:
            name = frame.f_globals.get("__name__")
            if name in ("importlib", "importlib.util"):
                plain = False
            elif not frame.f_code.co_filename.startswith("<frozen importlib"):
                break
            frame = frame.f_back
        if frame is None:
            return None, False
        file = frame.f_code.co_filename
        outside = file.startswith("<frozen ") or (os.path.isabs(file) and not inside(file))
        return outside, plain and frame.f_code.co_code[frame.f_lasti] == statement

    def elsewhere(name):
        """The file of the module that the path has outside the tree."""
        spec = machinery.PathFinder.find_spec(name, [entry for entry in sys.path if not inside(entry)])
        return spec.origin if spec is not None and spec.loader is not None else None

    def same(one, other):
        try:
            with open(one, "rb") as one, open(other, "rb") as other:
                return one.read() == other.read()
        except (IOError, OSError):
            return False

    def refuse(path, name):
        text = "holdpoint: %s is new, and would be imported as %s in place of what the check's programs need\n"
        os.write(stderr, (text % (path, name)).encode("utf-8", "backslashreplace"))
        os._exit(1)

    def look(name, file):
        path = os.path.abspath(file)[len(root):]
        if not is_new(path) and not is_new(os.path.realpath(file)[len(root):]):
            return
        outside, plain = importer()
        if outside is None:
            return
        if outside and plain:
            refuse(path, name)
        if "." in name:
            return
        other = elsewhere(name)
        if other is None or same(file, other):
            return
        of_python = other.startswith(library) and "/site-packages/" not in other
        if of_python or outside:
            refuse(path, name)

    class Finder(machinery.FileFinder):
        def find_spec(self, fullname, target=None):
            spec = machinery.FileFinder.find_spec(self, fullname, target)
            if spec is not None and spec.has_location:
                look(fullname, spec.origin)
            return spec

    def hook(path):
        if not inside(path):
            raise ImportError("outside the tree")
        for other in sys.path_hooks:
            if other is hook:
                continue
            try:
                finder = other(path)
            except ImportError:
                continue
            if type(finder) is machinery.FileFinder:
                finder.__class__ = Finder
            return finder
        raise ImportError("no finder")

    sys.path_hooks.insert(0, hook)
    sys.path_importer_cache.clear()


def _watch(root, text):
    """Says when the process ends which of these lines ran in it, and which could have. Other tracers come before it."""
    import atexit
    import dis
    import threading

    stderr = os.dup(2)
    lines = text.split("\n")
    mark, wanted = lines[0], {}
    for line in filter(None, lines[1:]):
        numbers, path = line.split(" ", 1)
        wanted[path] = frozenset(map(int, numbers.split(",")))
    ran = {path: set() for path in wanted}
    known = {}

    def tracer(path):
        seen = ran[path]

        def local(frame, event, argument):
            if event == "line":
                seen.add(frame.f_lineno)
            return local

        return local

    def call(frame, event, argument):
        file = frame.f_code.co_filename
        if file not in known:
            path = os.path.abspath(file)[len(root) + 1:]
            known[file] = tracer(path) if path in wanted and os.path.abspath(file).startswith(root + "/") else None
        return known[file]

    def could(path):
        with open(os.path.join(root, path), "rb") as file:
            codes = [compile(file.read(), path, "exec", dont_inherit=True)]
        found = set()
        while codes:
            code = codes.pop()
            found.update(line for _, line in dis.findlinestarts(code))
            codes.extend(one for one in code.co_consts if hasattr(one, "co_consts"))
        return found & wanted[path]

    def tell():
        if sys.gettrace() is not call:
            return
        sys.settrace(None)
        for path in wanted:
            try:
                lines = could(path)
            except (IOError, OSError, SyntaxError, ValueError):
                continue
            for what, numbers in (("could", lines), ("ran", ran[path] & wanted[path])):
                if numbers:
                    numbers = ",".join(map(str, sorted(numbers)))
                    os.write(stderr, ("\n%s %s %s %s\n" % (mark, what, numbers, path)).encode("utf-8", "replace"))

    atexit.register(tell)
    threading.settrace(call)
    sys.settrace(call)


def _observe(here, given):
    """Loads what tells the observer; `given` names the descriptor to it and the runner."""
    from importlib import util

    name = "holdpoint_observer"
    spec = util.spec_from_file_location(name, os.path.join(here, name + ".py"))
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    descriptor, runner = given.split(":")
    module.start(int(descriptor), runner)


def _start():
    here = os.path.dirname(os.path.abspath(__file__))
    observer = os.environ.pop("HOLDPOINT_OBSERVER", None)
    _restore(here)
    if sys.version_info >= (3, 6):
        new = os.path.join(here, "new")
        if os.path.exists(new):
            with open(new, encoding="utf-8") as file:
                lines = file.read().split("\n")
            if lines[1:]:
                _guard(lines[0], frozenset(lines[1:]))
            watched = os.path.join(here, "watched")
            if os.path.exists(watched):
                with open(watched, encoding="utf-8") as file:
                    _watch(lines[0].rstrip("/"), file.read())
        if observer is not None:
            _observe(here, observer)
        _chain()


_start()

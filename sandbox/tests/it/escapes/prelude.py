# What every attempt starts with. Attempts are pieces of code: the first argument is a list of them. One ends with 77 if the
# system refused it, with 0 if it got through, and otherwise when it is wrong itself.
import ctypes, errno, json, mmap, os, signal, socket, struct, sys, time

E = os.environ
OUT, STATE, SCRATCH, TREE, WORD = (E[name] for name in ("OUT", "STATE", "SCRATCH", "TREE", "WORD"))
VICTIM = OUT + "/victim"
SUPERVISOR = os.getppid()
DEADLINE = time.monotonic() + 10
libc = ctypes.CDLL(None, use_errno=True)


def parent(pid):
    return int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])


def someone(name):
    # In a sandbox within a sandbox the harness is the grandparent of the stage that started this.
    return int(E[name]) if E[name] != "above" else parent(parent(SUPERVISOR))


def call(number, *arguments):
    # A system call by its number, because libraries know only some of them.
    ctypes.set_errno(0)
    plain = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *plain)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"call {number}")
    return result


def every(*attempts):
    # All have to be refused.
    last = None
    for number, attempt in enumerate(attempts):
        try:
            attempt()
        except OSError as error:
            print("tried", number, errno.errorcode.get(error.errno))
            last = error
        else:
            print("got through with", number)
            sys.exit(0)
    raise last


def read(path):
    print(open(path, errors="replace").read(100))


def write(path, flags=os.O_WRONLY):
    os.write(os.open(path, flags, 0o644), b"taken")


def fork():
    # However wrong things go, what forks without end comes to an end.
    if time.monotonic() > DEADLINE:
        os._exit(0)
    return os.fork()


def stay():
    # Becomes a program that the test can find by its word.
    os.execv("/bin/sleep", ["sleep", WORD])


def child(work):
    # Runs it in a child, and does not wait.
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return pid


def attempt(body):
    # Ends this process with what became of it.
    try:
        exec(body, globals())
    except OSError as error:
        print("refused", errno.errorcode.get(error.errno))
        sys.exit(77)
    sys.exit(0)


def one_by_one(bodies):
    global SCRATCH
    scratch = SCRATCH
    # Each in a process of its own; what became of each, as JSON.
    seen = []
    for number, body in enumerate(bodies):
        SCRATCH = f"{scratch}/{number}"
        os.mkdir(SCRATCH)
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.dup2(writer, 1)
            os.dup2(writer, 2)
            os.closerange(3, 64)
            attempt(body)
        os.close(writer)
        said = open(reader, errors="replace").read()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        ended = f"exited {code}" if code >= 0 else f"signalled {-code}"
        seen.append({"ended": ended, "said": said})
    print(json.dumps(seen))


bodies = json.loads(sys.argv[1])
if len(bodies) == 1:
    attempt(bodies[0])
else:
    one_by_one(bodies)

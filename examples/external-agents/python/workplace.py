"""Blobs, git and programs. Nothing is sandboxed: run an agent as a user of its own, or in a container."""
import asyncio, contextlib, hashlib, os, pathlib, signal, subprocess

CHUNK = 256 * 1024


async def put(agent, data):
    """Stores bytes under their digest. Chunk 0 comes last: when it is there, all of them are."""
    digest = hashlib.sha256(data).hexdigest()
    for n in reversed(range(max(1, -(-len(data) // CHUNK)))):
        size = {"Hp-Size": str(len(data))} if n == 0 else {}
        await agent.store(f"hp.v1.blob.{agent.role}.{digest}.{n}", data[n * CHUNK:(n + 1) * CHUNK], size)
    return {"role": agent.role, "digest": f"sha256:{digest}", "bytes": len(data)}


async def get(agent, blob):
    data, digest = b"", blob["digest"].removeprefix("sha256:")
    for n in range(max(1, -(-blob["bytes"] // CHUNK))):
        subject = f"$JS.API.DIRECT.GET.HP_BLOB.hp.v1.blob.{blob['role']}.{digest}.{n}"
        data += (await agent.nc.request(subject, b"", timeout=10, old_style=True)).data
    if hashlib.sha256(data).hexdigest() != digest:
        raise RuntimeError(f"the blob {digest} of {blob['role']} is not there, or is something else")
    return data


async def git(folder, *args):
    process = await asyncio.create_subprocess_exec("git", "-C", str(folder), *args, stdin=subprocess.DEVNULL,
                                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        output, errors = await process.communicate()
    finally:
        if process.returncode is None:  # The turn was stopped.
            process.kill()
            await process.wait()
    if process.returncode:
        raise RuntimeError(f"git {args[0]}: {errors.decode(errors='replace')}")
    return output.decode(errors="surrogateescape").strip()


async def checkout(agent, folder, bundles, commit):
    """A repository in `folder` with what the bundles bring, in their order, and `commit` checked out."""
    await git(folder, "init", "--quiet", f"--object-format={'sha256' if len(commit) == 64 else 'sha1'}")
    for n, bundle in enumerate(bundles):
        path = pathlib.Path(folder, ".git", f"{n}.bundle")
        path.write_bytes(await get(agent, bundle["blob"]))
        await git(folder, "fetch", "--quiet", str(path), f"+refs/holdpoint/*:refs/holdpoint/{n}/*")
    await git(folder, "checkout", "--quiet", "--detach", commit)


async def changed(folder, base, tree):
    """How much differs: files, added and removed lines. Binary files have no lines."""
    text = await git(folder, "diff", "--numstat", "--no-renames", base, tree)
    lines = [line.split("\t") for line in text.splitlines()]
    count = lambda column: sum(int(line[column]) for line in lines if line[column] != "-")
    return {"files": len(lines), "insertions": count(0), "deletions": count(1)}


async def shell(command, folder, seconds, environment, stdin=b""):
    """Exit code (None after a time-out) and output of a command. Whatever it started ends with it."""
    process = await asyncio.create_subprocess_shell(
        command, cwd=folder, env=environment, start_new_session=True, stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
    try:
        output, _ = await asyncio.wait_for(process.communicate(stdin), seconds)
        return process.returncode, output
    except asyncio.TimeoutError:
        return None, b"ended: its time was used up\n"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

#!/usr/bin/env python3
"""A builder: runs BUILD_COMMAND in a clone, with the goal on its standard input, and hands off what it changed.

    HOLDPOINT_NATS_URL=nats://... HOLDPOINT_CREDS=builder-py.creds BUILD_COMMAND='claude -p' ./builder.py
"""
import asyncio, os, pathlib, re, tempfile, time

from holdpoint_agent import Agent
from workplace import changed, checkout, git, put, shell

COMMAND = os.environ.get("BUILD_COMMAND", "cat > PROMPT.md")
STATUS = {"A": "added", "M": "modified", "T": "modified", "D": "deleted"}


def plan(turn):
    request = turn["request"]
    checks = [criterion["check"]["command"] for criterion in request["criteria"] if criterion["check"]]
    return "build_plan", {"declared": False, "file_targets": request["scope"], "validation": checks,
                          "coverage": [criterion["id"] for criterion in request["criteria"]],
                          "budget": request["budget"]}


async def work(agent, turn):
    request = turn["request"]
    prompt = f"# {request['title']}\n\n{request['goal']}\n"
    for failing in (request["feedback"] or {}).get("failing", []):
        prompt += f"\nThe last attempt failed at `{failing['command']}`:\n{failing['output_tail']}\n"
    with tempfile.TemporaryDirectory() as folder:
        # From `start`, which after a rework is the last attempt; what is handed off is one commit on `base`.
        await checkout(agent, folder, request["bundles"], request["start"])
        # The program gets none of the agent's credentials. A real one also runs as another user, or in a container.
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HOLDPOINT_")}
        began = time.monotonic()
        code, output = await shell(COMMAND, folder, request["budget"]["wall"] / 1000, environment, prompt.encode())
        wall = int((time.monotonic() - began) * 1000)
        log = await put(agent, output)
        ran = {"source": "harness", "command": COMMAND, "exit_code": code, "duration": wall,
               "evidence": log["digest"]}
        artifact = {"status": "ok", "failure": None, "commit": None, "tree": None, "bundle": None, "touched": [],
                    "diff": {"files": 0, "insertions": 0, "deletions": 0}, "ledger": [ran], "claims": [],
                    "completion_claim": None, "metered": {"wall": wall, "output_bytes": len(output)}}
        if code != 0:
            reason = "agent_timeout" if code is None else "agent_failed"
            detail = f"ended with {code}: {output[-2000:].decode(errors='replace')}"
            failure = {"reason": reason, "detail": detail}
            return "build_artifact", {**artifact, "status": "failed", "failure": failure}
        return "build_artifact", {**artifact, **await commit(agent, request, folder)}


async def commit(agent, request, folder):
    """The working tree as one commit on the base, in a thin bundle with exactly one ref."""
    base = request["base"]
    await git(folder, "add", "--all")
    tree = await git(folder, "write-tree")
    if tree == await git(folder, "rev-parse", f"{base}^{{tree}}"):
        return {"tree": tree}  # Nothing changed: checks run all the same.
    who = ["-c", f"user.name={agent.name}", "-c", "user.email=agent@holdpoint.invalid"]
    made = await git(folder, *who, "commit-tree", tree, "-p", base, "-m", request["title"])
    await git(folder, "update-ref", "refs/holdpoint/handoff", made)
    path = pathlib.Path(folder, ".git", "handoff.bundle")
    await git(folder, "bundle", "create", "--quiet", str(path), "refs/holdpoint/handoff", f"^{base}")
    changes = (await git(folder, "diff-tree", "-r", "--no-renames", "-z", base, tree)).split("\0")
    touched = [change(facts, name) for facts, name in zip(changes[::2], changes[1::2])]
    bundle = {"blob": await put(agent, path.read_bytes()), "tip": made}
    return {"commit": made, "tree": tree, "bundle": bundle, "touched": touched[:1000],
            "diff": await changed(folder, base, tree)}


def change(facts, name):
    old, new, _, _, status = facts.lstrip(":").split()
    path = re.sub(r"[\x00-\x1f\x7f\\]", lambda found: f"\\x{ord(found[0]):02x}", name)
    return {"path": path, "status": STATUS[status], "old_mode": None if status == "A" else old,
            "new_mode": None if status == "D" else new}


if __name__ == "__main__":
    asyncio.run(Agent(os.environ.get("HOLDPOINT_ROLE", "builder")).run(plan, work))

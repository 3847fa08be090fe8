#!/usr/bin/env python3
"""A verifier: checks out the tree under review, runs the checks, stores their output and reports verdicts.

    HOLDPOINT_NATS_URL=nats://... HOLDPOINT_CREDS=verifier-py.creds ./verifier.py

It runs checks as its own user and without a sandbox: start it in a container. Holdpoint's verifier also runs each
check with the tests as on the base, and counts tests; this one does not.
"""
import asyncio, os, pathlib, re, shutil, tempfile, time

from holdpoint_agent import Agent
from workplace import changed, checkout, git, put, shell


def plan(turn):
    named = turn["request"]["criteria"] + turn["request"]["guards"] + turn["request"].get("checkpoints", [])
    wanted = [{"criterion": one["id"], "command": (one["check"] or {}).get("command")} for one in named]
    return "verification_plan", {"wanted": wanted}


async def work(agent, turn):
    request, runs = turn["request"], []
    with tempfile.TemporaryDirectory() as folder:
        # On a baseline, commit and tree are the base's.
        await checkout(agent, folder, request["bundles"], request["commit"])
        if await git(folder, "rev-parse", "HEAD^{tree}") != request["tree"]:
            raise RuntimeError("the commit under review has another tree than the one to be judged")
        diff = await changed(folder, request["base"], request["commit"])
        shutil.rmtree(pathlib.Path(folder, ".git"))
        # On the whole tree, each time: only who shares the result has to see to it that a setup sees its inputs alone.
        if setup := request.get("environment", {}).get("setup"):
            ran, _ = await run(agent, request, folder, runs, None, {"command": setup, "timeout": 1_800_000})
            if ran["verdict"] != "pass":
                raise RuntimeError("the environment cannot be set up: the turn goes back")
        criteria = [await judge(agent, request, folder, runs, one) for one in request["criteria"]]
        guards = [await judge(agent, request, folder, runs, one) for one in request["guards"]]
        # What a command `needs` would be looked for on the base. Here a missing program is red, which is never too little.
        commands = [{"gate": one["gate"], **await judge(agent, request, folder, runs, one)}
                    for one in request.get("checkpoints", [])]
    return "verification_report", {
        "purpose": request["purpose"], "commit": request["commit"], "tree": request["tree"], "criteria": criteria,
        "guards": guards, "checkpoints": commands, "violations": [], "diff": diff, "doubts": [], "self_checked": False,
        # What a sandbox enforced would stand under properties: here, nothing.
        "receipt": {"checks": runs, "properties": [], "foreign": True}}


async def judge(agent, request, tree, runs, one):
    """The verdict on one criterion or guard, on a copy of the tree that goes with it."""
    check = one["check"]
    if check is None:  # A statement without a command needs a judge, and this verifier has none.
        result = {"id": one["id"], "verdict": "inconclusive", "reason": "no_judge", "evidence": []}
        return {"result": result, "command": None, "exit_code": None, "output_tail": "", "note": "no judge here"}
    with tempfile.TemporaryDirectory() as parent:
        folder = shutil.copytree(tree, pathlib.Path(parent, "tree"), symlinks=True)
        ran, output = await run(agent, request, folder, runs, one["id"], check)
    result = {"id": one["id"], "verdict": ran["verdict"], "reason": ran["reason"], "evidence": [ran["output"]]}
    return {"result": result, "command": check["command"], "exit_code": ran["exit_code"],
            "output_tail": output[-4000:].decode(errors="replace"), "note": None}


async def run(agent, request, folder, runs, criterion, check):
    """Runs a command in a clean environment, stores what it printed, and notes the run in the receipt."""
    with tempfile.TemporaryDirectory() as scratch:
        given = request.get("environment", {})
        path = [str(pathlib.Path(folder, own)) for own in given.get("path", [])]
        environment = {**given.get("env", {}), "PATH": ":".join([*path, os.environ["PATH"]]), "HOME": scratch,
                       "TMPDIR": scratch, "LANG": "C.UTF-8"}
        began = time.monotonic()
        code, output = await shell(check["command"], folder, check["timeout"] / 1000, environment)
    verdict, reason = read(code, output.decode(errors="replace"), check.get("expect"))
    stored = await put(agent, output)
    runs.append({"criterion": criterion, "command": check["command"], "tree": request["tree"], "verdict": verdict,
                 "tested": "base" if request["purpose"] == "baseline" else "handoff", "reason": reason,
                 "exit_code": code if code is not None and code >= 0 else None,
                 "signal": -code if code is not None and code < 0 else None,
                 "duration": int((time.monotonic() - began) * 1000), "output": stored["digest"],
                 "output_bytes": stored["bytes"]})
    return runs[-1], output


def read(code, output, expect):
    """How the end of a check is read: only 1 to 125 is a plain no."""
    if code is None:
        return "inconclusive", "timeout"
    if code < 0 or code > 128:
        return "inconclusive", "signal"
    if code >= 126:
        return "inconclusive", "not_executable"
    if code > 0:
        return "fail", "exit_code"
    if expect and not re.search(expect, output):
        return "fail", "expect_unmatched"
    return "pass", None


if __name__ == "__main__":
    asyncio.run(Agent("verifier").run(plan, work))

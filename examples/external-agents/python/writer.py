#!/usr/bin/env python3
"""Completes gates of any role: runs WRITE_COMMAND, which reads what is wanted and prints the document of the gate, and hands that over.

    HOLDPOINT_NATS_URL=nats://... HOLDPOINT_CREDS=analyst-py.creds WRITE_COMMAND='claude -p' ./writer.py
"""
import asyncio, os, tempfile

from holdpoint_agent import Agent
from workplace import get, shell

COMMAND = os.environ.get("WRITE_COMMAND", "cat")


def plan(_):
    return "completion_plan", {}


async def work(agent, turn):
    request = turn["request"]
    prompt = f"# {request['title']}\n\n{request.get('goal') or ''}\n"
    for document in request.get("documents", []):
        text = await get(agent, document["blob"])
        prompt += f"\n# From {document['gate']}\n\n{text.decode(errors='replace')}\n"
    if agent.refused:  # What the orchestrator found missing: each checkpoint that does not hold, and why.
        prompt += f"\n# What to fix\n\n{agent.refused['details']['message']}\n"
    wall = (request.get("budget") or {}).get("wall") or 600_000
    with tempfile.TemporaryDirectory() as folder:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HOLDPOINT_")}
        code, output = await shell(COMMAND, folder, wall / 1000, environment, prompt.encode())
    completion = {"summary": f"Wrote the document of {turn['gate']}.", "blockers": [], "metadata": {}}
    if code != 0:
        reason = "agent_timeout" if code is None else "agent_failed"
        detail = f"ended with {code}: {output[-2000:].decode(errors='replace')}"
        return "completion", {**completion, "failure": {"reason": reason, "detail": detail}}
    return "completion", {**completion, "outcome": "complete", "document": document_of(output.decode(), request["context"])}


def document_of(text, context):
    """The document, with a statement on each checkpoint that nothing else establishes."""
    rules = {"section", "matches", "lacks", "touches", "guard", "command"}
    stated = [one["name"] for one in context.get("checkpoints", []) if not rules & one.keys()]
    results = [{"name": name, "by": "statement", "status": "pass"} for name in stated]
    return {"text": text, "checkpoints": results, "retry_count": 0}


if __name__ == "__main__":
    asyncio.run(Agent(os.environ["HOLDPOINT_ROLE"]).run(plan, work))

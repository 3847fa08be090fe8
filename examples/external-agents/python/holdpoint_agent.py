"""What agents of every role share: credentials, turns, heartbeats, progress, handoffs, refusals.
HOLDPOINT_NATS_URL names the broker, HOLDPOINT_CREDS a .creds file. The contract is docs/external-agents.md."""
import asyncio, base64, contextlib, datetime, json, os, pathlib, re, secrets, signal, sys, uuid

import nats
from nacl.signing import SigningKey


class Agent:
    def __init__(self, role):
        text = pathlib.Path(os.environ["HOLDPOINT_CREDS"]).read_text()
        self.jwt, seed = re.findall(r"-----BEGIN [^\n]*-----\s+(\S+)", text)
        claims = json.loads(base64.urlsafe_b64decode(self.jwt.split(".")[1] + "=="))
        # An NKey seed is base32: two bytes of prefix, the key's 32, a checksum.
        self.key = SigningKey(base64.b32decode(seed + "=" * (-len(seed) % 8))[2:34])
        self.role, self.name, self.n = role, claims["name"], 0
        self.pool = next(tag[5:] for tag in claims["nats"]["tags"] if tag.startswith("pool:"))
        self.stopping, self.news, self.refusals = False, asyncio.Event(), []
        self.refused = None  # Why what was handed off in this turn is not taken.

    def stop(self):
        self.stopping = True
        self.news.set()

    async def hear(self, message):
        if ".refused." in message.subject:
            self.refusals.append(json.loads(message.data))
        self.news.set()

    async def run(self, plan, work):
        """Takes turns until SIGTERM; `plan(turn)` and `work(self, turn)` give a handoff's kind and fields."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.stop)
        self.nc = await nats.connect(
            os.environ["HOLDPOINT_NATS_URL"].split(","), max_reconnect_attempts=-1, user_jwt_cb=self.jwt.encode,
            signature_cb=lambda nonce: self.sign(nonce.encode()).encode(), inbox_prefix=f"_INBOX.{self.name}".encode())
        await self.nc.subscribe(f"hp.v1.wake.{self.role}", cb=self.hear)
        await self.nc.subscribe(f"hp.v1.wake.{self.role}.{self.pool}", queue="agents", cb=self.hear)
        await self.nc.subscribe(f"hp.v1.refused.{self.role}.{self.name}", cb=self.hear)
        while not self.stopping:
            self.news.clear()
            try:
                if self.refusals:
                    await self.correct(self.refusals.pop(0), work)
                elif message := await self.pull():
                    self.turn, self.delivery, self.n = json.loads(message.data), message.metadata.num_delivered, 0
                    self.refused = None
                    self.source = f"HP_JOURNAL/{message.metadata.sequence.stream}"
                    await self.serve(message, plan, work)
                else:
                    with contextlib.suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(self.news.wait(), 5)  # Then look again: hints get lost.
                        await asyncio.sleep(0.02)  # A hint can be faster than the broker counts its turn.
            except Exception as error:
                print(self.name, "goes on after", repr(error), file=sys.stderr)
                await asyncio.sleep(1)
        with contextlib.suppress(nats.errors.Error):
            await self.nc.drain()

    async def pull(self):
        """One turn, most urgent first, or None. It never waits in the broker: what that gives has to be taken."""
        for priority in ("critical", "high", "medium", "low"):
            consumer = f"HP_JOURNAL.{self.role}_{priority}_{self.pool}"
            answer = await self.nc.request(f"$JS.API.CONSUMER.MSG.NEXT.{consumer}", b'{"batch":1,"no_wait":true}',
                                           timeout=10, old_style=True)
            if "Status" not in (answer.headers or {}):
                return answer

    async def serve(self, message, plan, work):
        try:
            if stop := await self.told_to_stop():  # Answered long ago, most likely.
                return await self.leave(message, stop)
            await self.hand_off(*plan(self.turn))
            task = asyncio.create_task(work(self, self.turn))
            while not task.done():
                await message.in_progress()
                if stop := await self.told_to_stop():
                    task.cancel()
                    await asyncio.wait([task])
                    return await self.leave(message, stop)
                await asyncio.wait([task], timeout=2)
            await self.hand_off(*task.result())
            await message.ack()  # Only now: an agent that dies before this loses nothing.
        except Exception as error:  # A failure of our own is no attempt: it comes again, to any agent that is there.
            print(self.name, "gives the turn back:", repr(error), file=sys.stderr)
            await message.nak(delay=min(2**self.delivery, 60))

    async def leave(self, message, stop):
        """A turn that is over is done; one that another agent has to do comes again."""
        if self.stopping or stop.get("give_back"):
            return await message.nak(delay=None if self.stopping else 1)
        await message.ack()

    async def told_to_stop(self):
        """Why this agent stops working on the turn, or None."""
        if self.stopping:
            return {"reason": "this process ends"}
        question = {"flight": self.turn["flight"], "waypoint": self.turn["waypoint"], "note": "working",
                    "turn": self.turn["turn_id"], "delivery": self.delivery}
        with contextlib.suppress(nats.errors.Error):  # No answer means: go on.
            answer = await self.signed("hp.v1.api.progress", json.dumps(question).encode(), {"Hp-Jwt": self.jwt})
            said = json.loads(answer.data or b"{}")
            return said if "reason" in said else None

    async def correct(self, refusal, work):
        """Says what was wrong. If the turn is still open, it is done once more and handed off again."""
        print(self.name, "was refused:", refusal["code"], refusal["error"], refusal["hint"], file=sys.stderr)
        if refusal["action"] == "correct" and self.n < 2 and self.turn["turn_id"] in str(refusal["message_id"]):
            self.n, self.refused = self.n + 1, refusal
            await self.hand_off(*await work(self, self.turn))

    async def hand_off(self, kind, fields):
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        artifact = {"schema_version": "1.0", "artifact_id": uuid.uuid4().hex, "waypoint_id": self.turn["waypoint"],
                    "produced_by_role": self.role, "produced_at": now, "source_refs": [self.source],
                    "turn": self.turn["turn_id"], "delivery": self.delivery, "agent": self.name, **fields}
        # Nobody may guess its end: an agent that does can store something else under it first.
        message_id = f"{self.turn['turn_id']}.{self.delivery}.{self.name}.{kind}.{secrets.randbits(62)}"
        headers = {"Content-Type": "application/json", "Hp-Schema": f"{kind}/1.0", "Nats-Msg-Id": message_id}
        subject, payload = f"{self.turn['handoff_subject']}.{kind}", json.dumps(artifact).encode()
        await self.store(subject, payload, {**headers, "Hp-Jwt": self.jwt})

    def sign(self, data):
        return base64.urlsafe_b64encode(self.key.sign(data).signature).decode().rstrip("=")

    async def signed(self, subject, payload, headers):
        signature = self.sign(subject.encode() + b"\n" + payload)
        return await self.nc.request(subject, payload, timeout=5, headers={"Hp-Signature": signature, **headers})

    async def store(self, subject, payload, headers):
        error = json.loads((await self.signed(subject, payload, headers)).data).get("error")
        if error and "per subject" not in error["description"]:  # That chunk is there already: success.
            raise RuntimeError(f"{subject}: {error['description']}")

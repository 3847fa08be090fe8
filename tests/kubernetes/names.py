"""The names of the cluster of `cluster.sh`: SERVICE.NAMESPACE.svc.cluster.local and POD.SERVICE.…, from the API's endpoints.

    names.py KUBECONFIG ADDRESS

Answers questions for IPv4 addresses, over UDP. Every other name does not exist.
"""

import json
import re
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.request

ZONE = ".svc.cluster.local"
# How old an answer may be.
PAUSE_S = 0.5
ADDRESS, IN = 1, 1
ANSWER, NO_SUCH_NAME = 0x8580, 0x8583


def endpoints(server, token):
    """Addresses by names."""
    request = urllib.request.Request(f"{server}/api/v1/endpoints", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, context=ssl._create_unverified_context(), timeout=5) as answer:
        services = json.load(answer)["items"]
    names = {}
    for service in services:
        name = f"{service['metadata']['name']}.{service['metadata']['namespace']}{ZONE}"
        for subset in service.get("subsets") or []:
            for address in subset.get("addresses") or []:
                names.setdefault(name, set()).add(address["ip"])
                if "hostname" in address:
                    names.setdefault(f"{address['hostname']}.{name}", set()).add(address["ip"])
    return names


def question(query):
    """The name that is asked for, its type, and where the question ends."""
    at, labels = 12, []
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode())
        at += 1 + query[at]
    return ".".join(labels).lower(), struct.unpack(">H", query[at + 1 : at + 3])[0], at + 5


def answer(query, names):
    name, kind, end = question(query)
    found = sorted(names.get(name, ()))
    told = found if kind == ADDRESS else []
    head = query[:2] + struct.pack(">HHHHH", ANSWER if found else NO_SUCH_NAME, 1, len(told), 0, 0)
    records = (b"\xc0\x0c" + struct.pack(">HHIH", ADDRESS, IN, 2, 4) + socket.inet_aton(ip) for ip in told)
    return head + query[12:end] + b"".join(records)


def main(kubeconfig, address):
    with open(kubeconfig, encoding="utf-8") as file:
        text = file.read()
    server, token = (re.search(pattern, text).group(1) for pattern in (r'server: "([^"]+)"', r"token: (\w+)"))
    known = {}

    def read():
        nonlocal known
        while True:
            try:
                known = endpoints(server, token)
            except Exception as error:  # whatever the API answers while it starts or ends: the last names stay
                print(repr(error), flush=True)
            time.sleep(PAUSE_S)

    threading.Thread(target=read, daemon=True).start()
    door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    door.bind((address, 53))
    while True:
        query, asker = door.recvfrom(1500)
        try:
            door.sendto(answer(query, known), asker)
        except (IndexError, struct.error, UnicodeDecodeError, OSError) as error:
            print(f"not answered: {error!r}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

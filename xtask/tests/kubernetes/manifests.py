"""The chart of deploy/helm and the manifests of deploy/kubernetes, by Helm's renderer and the schemas of the Kubernetes API.

    manifests.py chart         lints the chart, renders it with several values, and holds all of it against schemas and rules
    manifests.py plain         the same for deploy/kubernetes, which has to be what the chart renders
    manifests.py write         writes deploy/kubernetes anew
    manifests.py check FILE    holds one file against the schemas
    manifests.py render NAME   prints the chart as a release of that name, with the values on standard input

Prints a line for each problem, and ends with 1 if there is one.
"""

import pathlib
import sys

import jsonschema
import kubernetes_validate
import yaml
from helm_python import Chart, lint

ROOT = pathlib.Path(__file__).resolve().parents[3]
CHART = ROOT / "deploy/helm/holdpoint"
PLAIN = ROOT / "deploy/kubernetes"
# Written by hand: the chart has no part in them.
BY_HAND = {"namespace.yaml", "kustomization.yaml"}
# The oldest that Chart.yaml admits, and the newest whose schemas are here.
VERSIONS = ["1.28", "1.31", "1.34", "1.37"]
# What deploy/kubernetes is rendered with.
PLAIN_VALUES = {"scaling": {"enabled": True}, "sandbox": {"install": True}, "archive": {"enabled": True}}
# What else people set.
VARIANTS = {
    "as it comes": {},
    "plain": PLAIN_VALUES,
    "a cluster of brokers": {
        "broker": {"replicas": 3, "storageClass": "fast"},
        "orchestrator": {"replicas": 2},
        "network": {"clients": [{"namespaceSelector": {"matchLabels": {"team": "a"}}}]},
    },
    "a broker of your own": {
        "broker": {"enabled": False, "url": "tls://nats.example:4222", "tlsSecret": "nats-tls", "tlsClient": True, "copies": 3},
        "traces": "http://collector.monitoring:4317",
        "archive": {"enabled": True, "evidence": False, "secret": "keeper", "storageClass": "slow"},
        "network": {"traces": [{"ipBlock": {"cidr": "10.1.2.3/32"}}]},
    },
    "one more role, other images": {
        "images": {"repository": "registry.example/holdpoint", "tag": "1.0", "pullSecrets": [{"name": "registry"}]},
        "sandbox": {"appArmor": "Unconfined"},
        "network": {"policies": False},
        "agents": {
            "reviewer": {
                "replicas": 2,
                "keys": 4,
                "reach": "world",
                "image": "registry.example/reviewer:1",
                "config": '[agents.reviewer]\ncommand = "/agents/reviewer.sh"\n',
                "state": "5Gi",
                "programMemory": "1GiB",
                "programDisk": "4GiB",
                "resources": {"limits": {"memory": "2Gi"}},
            }
        },
    },
}


def closed(required=(), **properties):
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


TEXT, NUMBER = {"type": "string"}, {"type": "integer", "minimum": 0}
SCALING_RULES = closed(
    stabilizationWindowSeconds=NUMBER,
    selectPolicy=TEXT,
    policies={"type": "array", "items": closed(["type", "value", "periodSeconds"], type=TEXT, value=NUMBER, periodSeconds=NUMBER)},
)
# What of KEDA's ScaledObject we use: it is no part of Kubernetes, so that its schema is not among those of the API.
SCALED_OBJECT = closed(
    ["apiVersion", "kind", "metadata", "spec"],
    apiVersion={"const": "keda.sh/v1alpha1"},
    kind={"const": "ScaledObject"},
    metadata=closed(["name"], name=TEXT, labels={"type": "object", "additionalProperties": TEXT}),
    spec=closed(
        ["scaleTargetRef", "triggers"],
        scaleTargetRef=closed(["name"], apiVersion=TEXT, kind=TEXT, name=TEXT),
        minReplicaCount=NUMBER,
        maxReplicaCount=NUMBER,
        pollingInterval=NUMBER,
        cooldownPeriod=NUMBER,
        fallback=closed(["failureThreshold", "replicas"], failureThreshold=NUMBER, replicas=NUMBER),
        advanced=closed(
            horizontalPodAutoscalerConfig=closed(behavior=closed(scaleUp=SCALING_RULES, scaleDown=SCALING_RULES))
        ),
        triggers={
            "type": "array",
            "minItems": 1,
            "items": closed(
                ["type", "metadata"],
                type=TEXT,
                name=TEXT,
                metricType={"enum": ["AverageValue", "Value"]},
                metadata={"type": "object", "additionalProperties": TEXT},
            ),
        },
    ),
)


def of_schema(document):
    """What the API refuses of an object."""
    if document.get("kind") == "ScaledObject":
        for error in jsonschema.Draft202012Validator(SCALED_OBJECT).iter_errors(document):
            yield f"{'.'.join(map(str, error.path))}: {error.message}"
        return
    for version in VERSIONS:
        # A field of 1.30.
        if "appArmorProfile" in str(document) and version < "1.30":
            continue
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            yield f"Kubernetes {version}: {'.'.join(map(str, error.path))}: {error.message}"
        except kubernetes_validate.SchemaNotFoundError as error:
            yield f"Kubernetes {version}: {error.message}"


def of_rules(document):
    """What docs/kubernetes.md promises of every pod of the fleet, and does not hold."""
    spec = document.get("spec", {})
    template = spec.get("jobTemplate", {}).get("spec", spec).get("template")
    if not template:
        return
    pod = template["spec"]
    if pod.get("automountServiceAccountToken") is not False or pod.get("enableServiceLinks") is not False:
        yield "a pod gets a token of the cluster, or variables of its services"
    installs = document["kind"] == "DaemonSet"
    security = pod["securityContext"]
    if not installs and (security.get("runAsNonRoot"), security.get("runAsUser")) != (True, 10001):
        yield "a pod does not run as the images' user"
    agent = template["metadata"]["labels"].get("app.kubernetes.io/component") == "agent"
    wanted = "Localhost" if agent else "RuntimeDefault"
    if security["seccompProfile"]["type"] != wanted:
        yield f"the seccomp profile is not {wanted}"
    if any("hostPath" in volume for volume in pod["volumes"]) and not installs:
        yield "a pod mounts a folder of the host"
    for container in pod["containers"]:
        own = container["securityContext"]
        hardened = (own.get("allowPrivilegeEscalation"), own.get("readOnlyRootFilesystem"), own.get("capabilities"))
        if hardened != (False, True, {"drop": ["ALL"]}) or own.get("privileged"):
            yield f"container {container['name']} is not hardened: {own}"
        if "memory" not in container["resources"].get("limits", {}):
            yield f"container {container['name']} has no limit of memory"
        keys = [mount for mount in container["volumeMounts"] if mount["name"] == "keys"]
        whole = [mount for mount in keys if not mount.get("subPathExpr") and not mount.get("subPath")]
        if whole and container["name"] != "nats":
            yield "a process has keys of others"


def problems(name, text, rules=True):
    documents = [document for document in yaml.safe_load_all(text) if document]
    if not documents:
        yield f"{name}: nothing is in it"
    for document in documents:
        where = f"{name}: {document.get('kind')} {document.get('metadata', {}).get('name')}"
        yield from (f"{where}: {problem}" for problem in of_schema(document))
        yield from (f"{where}: {problem}" for problem in (of_rules(document) if rules else ()))


def rendered(values, release="holdpoint"):
    """The chart's files, by their names; those that come to nothing are left out."""
    with Chart.load(CHART) as chart:
        texts = chart.render(values=values, name=release, namespace=release)
    named = {path.rsplit("/", 1)[1]: text.lstrip("\n") for path, text in texts.items()}
    return {name: text for name, text in named.items() if name.endswith(".yaml") and text.strip()}


def tidy(text):
    """One file, without the blank ends that templates leave."""
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join(line for line in lines if line) + "\n"


def chart_problems():
    for message in lint(CHART, strict=True)["messages"]:
        # 1 is a hint: a chart should have an icon.
        if message["severity"] > 1:
            yield f"lint: {message['path']}: {message['error']}"
    for variant, values in VARIANTS.items():
        for name, text in rendered(values).items():
            yield from problems(f"{variant}: {name}", text)


def plain_problems():
    wanted = {name: tidy(text) for name, text in rendered(PLAIN_VALUES).items()}
    found = {path.name: path.read_text() for path in PLAIN.glob("*.yaml") if path.name not in BY_HAND}
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            yield f"deploy/kubernetes/{name} is not what the chart renders: `manifests.py write` writes it"
    for name, text in found.items():
        yield from problems(name, text)
    yield from problems("namespace.yaml", (PLAIN / "namespace.yaml").read_text())
    listed = yaml.safe_load((PLAIN / "kustomization.yaml").read_text())["resources"]
    yield from (f"kustomization.yaml names {name}, which is not there" for name in listed if not (PLAIN / name).is_file())


def main(arguments):
    command = arguments[0]
    if command == "write":
        PLAIN.mkdir(exist_ok=True)
        for name, text in rendered(PLAIN_VALUES).items():
            (PLAIN / name).write_text(tidy(text))
        return 0
    if command == "render":
        for text in rendered(yaml.safe_load(sys.stdin), arguments[1]).values():
            print(f"---\n{text}")
        return 0
    if command == "check":
        found = list(problems(arguments[1], pathlib.Path(arguments[1]).read_text(), rules=False))
    else:
        found = list({"chart": chart_problems, "plain": plain_problems}[command]())
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

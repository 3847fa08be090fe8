{{/* What every name begins with: the release's name, as `holdpoint keys secrets --name` has it. */}}
{{- define "holdpoint.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "holdpoint.selector" -}}
app.kubernetes.io/name: holdpoint
app.kubernetes.io/instance: {{ include "holdpoint.name" . }}
{{- end -}}

{{- define "holdpoint.labels" -}}
{{ include "holdpoint.selector" . }}
app.kubernetes.io/part-of: holdpoint
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{- define "holdpoint.image" -}}
{{ printf "%s/%s:%s" .root.Values.images.repository .name .root.Values.images.tag | quote }}
{{- end -}}

{{/* Where the broker is: each server by its own name, so that one that is away does not matter. */}}
{{- define "holdpoint.url" -}}
{{- if .Values.broker.enabled -}}
{{- $name := include "holdpoint.name" . -}}
{{- range $number := until (int .Values.broker.replicas) -}}
{{- if $number }},{{ end -}}
nats://{{ $name }}-nats-{{ $number }}.{{ $name }}-nats:4222
{{- end -}}
{{- else -}}
{{- required "broker.url: where is the broker, if broker.enabled is false?" .Values.broker.url -}}
{{- end -}}
{{- end -}}

{{- define "holdpoint.pod" -}}
# Nothing here talks to the API of the cluster.
automountServiceAccountToken: false
# Variables of other services would look like settings of ours.
enableServiceLinks: false
{{- with .Values.images.pullSecrets }}
# How nodes get at the images.
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- end -}}

{{/* Not one right of root's: as compose.yaml. */}}
{{- define "holdpoint.podSecurity" -}}
# The images' user, also of volumes.
runAsUser: 10001
# Its group.
runAsGroup: 10001
# Refused as root.
runAsNonRoot: true
# Volumes belong to this group.
fsGroup: 10001
# A volume that has this owner already is not walked through at each start.
fsGroupChangePolicy: OnRootMismatch
{{- end -}}

{{- define "holdpoint.security" -}}
# No new privileges.
allowPrivilegeEscalation: false
# Only volumes can be written.
readOnlyRootFilesystem: true
# Not one.
capabilities: {drop: [ALL]}
{{- end -}}

{{/* The Secret with the archive's key. */}}
{{- define "holdpoint.archivist" -}}
{{- .Values.archive.secret | default (printf "%s-archivist" (include "holdpoint.name" .)) -}}
{{- end -}}

{{/* How the broker's certificate is checked, and what is shown to it. */}}
{{- define "holdpoint.tls" -}}
{{- if .Values.broker.tlsSecret }}
# Whose certificates count.
- name: HOLDPOINT__NATS__TLS__CA
  value: /tls/ca.pem
{{- if .Values.broker.tlsClient }}
# The certificate that is shown.
- name: HOLDPOINT__NATS__TLS__CERT
  value: /tls/tls.pem
# Its key.
- name: HOLDPOINT__NATS__TLS__KEY
  value: /tls/tls-key.pem
{{- end }}
{{- end }}
{{- end -}}

{{/* What all processes of ours are told. */}}
{{- define "holdpoint.environment" -}}
# This pod's number, from 1 on.
- name: HOLDPOINT_NUMBER
  # From the pod itself.
  valueFrom: {fieldRef: {fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']"}}
# The broker.
- name: HOLDPOINT__NATS__URL
  # A text.
  value: {{ include "holdpoint.url" . | quote }}
# Whose signatures count.
- name: HOLDPOINT__NATS__TRUST
  value: /trust/trust.json
# This process's own credentials.
- name: HOLDPOINT__NATS__CREDS
  value: /keys/own.creds
{{- include "holdpoint.tls" . }}
# Metrics, and answers to probes.
- name: HOLDPOINT__METRICS__LISTEN
  value: 0.0.0.0:9464
{{- with .Values.traces }}
# Where traces go.
- name: HOLDPOINT__TELEMETRY__OTLP_ENDPOINT
  value: {{ . | quote }}
{{- end }}
# What is logged.
- name: HOLDPOINT__TELEMETRY__LOG
  value: {{ .Values.log | quote }}
{{- end -}}

{{/* Answered by the process itself: no program is started for a probe. */}}
{{- define "holdpoint.probes" -}}
# Until it is well for the first time: three minutes.
startupProbe:
  # Asks the process itself.
  httpGet: {path: /healthz, port: metrics}
  # How often.
  periodSeconds: 2
  # How many failures count.
  failureThreshold: 90
# Whether it turns, and its connection to the broker stands.
readinessProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 10
# Whether it turns. A broker that is away ends no process.
livenessProbe:
  httpGet: {path: /metrics, port: metrics}
  periodSeconds: 30
  # How long an answer may take.
  timeoutSeconds: 10
  failureThreshold: 4
{{- end -}}

{{- define "holdpoint.mounts" -}}
# Where it says that it is well.
- {name: run, mountPath: /run/holdpoint}
# Room for programs; what they build there can be run.
- {name: tmp, mountPath: /tmp}
# Mirrors, clones, checkouts.
- {name: state, mountPath: /var/lib/holdpoint}
# The folder, so that a change arrives.
- {name: trust, mountPath: /trust, readOnly: true}
{{- if .Values.broker.tlsSecret }}
# For the broker.
- {name: tls, mountPath: /tls, readOnly: true}
{{- end }}
{{- end -}}

{{- define "holdpoint.volumes" -}}
# In memory.
- {name: run, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
# On the node.
- {name: tmp, emptyDir: {sizeLimit: 2Gi}}
# Public.
- {name: trust, configMap: {name: {{ include "holdpoint.name" . }}-trust}}
{{- with .Values.broker.tlsSecret }}
# Certificates.
- {name: tls, secret: {secretName: {{ . }}, defaultMode: 0440}}
{{- end }}
{{- end -}}

{{- define "holdpoint.resources" -}}
{{- with .requests }}
# What is kept free for it.
requests: {{ toJson . }}
{{- end }}
{{- with .limits }}
# More memory than this ends it.
limits: {{ toJson . }}
{{- end }}
{{- end -}}

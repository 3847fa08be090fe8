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
# No pod here calls the Kubernetes API.
automountServiceAccountToken: false
# Kubernetes' service variables would look like Holdpoint settings.
enableServiceLinks: false
{{- with .Values.images.pullSecrets }}
# How nodes get at the images.
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- end -}}

{{/* Not one right of root's: as compose.yaml. */}}
{{- define "holdpoint.podSecurity" -}}
runAsUser: 10001
runAsGroup: 10001
runAsNonRoot: true
# Volumes belong to this group.
fsGroup: 10001
# Kubernetes changes the owner once, not at every start.
fsGroupChangePolicy: OnRootMismatch
{{- end -}}

{{- define "holdpoint.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* The Secret with the archive's key. */}}
{{- define "holdpoint.archivist" -}}
{{- .Values.archive.secret | default (printf "%s-archivist" (include "holdpoint.name" .)) -}}
{{- end -}}

{{/* How the broker's certificate is checked, and what is shown to it. */}}
{{- define "holdpoint.tls" -}}
{{- if .Values.broker.tlsSecret }}
- name: HOLDPOINT__NATS__TLS__CA
  value: /tls/ca.pem
{{- if .Values.broker.tlsClient }}
# The certificate that is shown.
- name: HOLDPOINT__NATS__TLS__CERT
  value: /tls/tls.pem
- name: HOLDPOINT__NATS__TLS__KEY
  value: /tls/tls-key.pem
{{- end }}
{{- end }}
{{- end -}}

{{/* What all processes of ours are told. */}}
{{- define "holdpoint.environment" -}}
# This pod's number, from 1 on.
- name: HOLDPOINT_NUMBER
  valueFrom: {fieldRef: {fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']"}}
- name: HOLDPOINT__NATS__URL
  value: {{ include "holdpoint.url" . | quote }}
# The keys whose signatures Holdpoint accepts.
- name: HOLDPOINT__NATS__TRUST
  value: /trust/trust.json
# This process's own credentials.
- name: HOLDPOINT__NATS__CREDS
  value: /keys/own.creds
{{- include "holdpoint.tls" . }}
- name: HOLDPOINT__METRICS__LISTEN
  value: 0.0.0.0:9464
{{- with .Values.traces }}
- name: HOLDPOINT__TELEMETRY__OTLP_ENDPOINT
  value: {{ . | quote }}
{{- end }}
- name: HOLDPOINT__TELEMETRY__LOG
  value: {{ .Values.log | quote }}
{{- end -}}

{{/* Answered by the process itself: no program is started for a probe. */}}
{{- define "holdpoint.probes" -}}
# Three minutes for the first start.
startupProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 2
  failureThreshold: 90
# Ready while it is connected to the broker.
readinessProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 10
# Alive even while the broker is away.
livenessProbe:
  httpGet: {path: /metrics, port: metrics}
  periodSeconds: 30
  timeoutSeconds: 10
  failureThreshold: 4
{{- end -}}

{{- define "holdpoint.mounts" -}}
# The health file.
- {name: run, mountPath: /run/holdpoint}
# Programs may execute what they build here.
- {name: tmp, mountPath: /tmp}
# Mirrors, clones, checkouts.
- {name: state, mountPath: /var/lib/holdpoint}
# The folder and not the file, so that updates arrive.
- {name: trust, mountPath: /trust, readOnly: true}
{{- if .Values.broker.tlsSecret }}
- {name: tls, mountPath: /tls, readOnly: true}
{{- end }}
{{- end -}}

{{- define "holdpoint.volumes" -}}
- {name: run, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
- {name: tmp, emptyDir: {sizeLimit: 2Gi}}
- {name: trust, configMap: {name: {{ include "holdpoint.name" . }}-trust}}
{{- with .Values.broker.tlsSecret }}
- {name: tls, secret: {secretName: {{ . }}, defaultMode: 0440}}
{{- end }}
{{- end -}}

{{- define "holdpoint.resources" -}}
{{- with .requests }}
requests: {{ toJson . }}
{{- end }}
{{- with .limits }}
limits: {{ toJson . }}
{{- end }}
{{- end -}}

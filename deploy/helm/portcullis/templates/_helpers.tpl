{{/* The name of everything that the chart makes. */}}
{{- define "portcullis.name" -}}
{{- if contains "portcullis" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-portcullis" .Release.Name | trunc 52 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "portcullis.selector" -}}
app.kubernetes.io/name: portcullis
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "portcullis.labels" -}}
{{ include "portcullis.selector" . }}
{{ include "portcullis.versionLabels" . }}
{{- end }}

{{- define "portcullis.versionLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "portcullis.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end }}

{{- define "portcullis.host" -}}
{{ include "portcullis.name" . }}.{{ .Release.Namespace }}.svc
{{- end }}

{{/* The configuration of the shared service, as JSON. */}}
{{- define "portcullis.configuration" -}}
{{- $given := .Values.configuration -}}
{{- $tls := "/etc/portcullis-tls" -}}
{{- $certificate := dict "certificate" (printf "%s/tls.crt" $tls) "key" (printf "%s/tls.key" $tls) -}}
{{- $defaults := dict
  "grpc" (dict "address" "0.0.0.0:50051")
  "http" (dict "address" "off")
  "health" (dict "address" "0.0.0.0:8181")
  "administrator_token" false -}}
{{- $own := dict
  "grpc" (dict "tls" (merge (dict "client_ca" (printf "%s/ca.crt" $tls)) $certificate))
  "data" "/var/lib/portcullis"
  "callers" .Values.callers -}}
{{- if .Values.secrets.data }}{{ $_ := set $defaults "directory" (dict "known_folder" "/var/lib/portcullis-known") }}{{ end -}}
{{- with include "portcullis.port" (dig "http" "address" "off" $given) -}}
{{- $_ := set $defaults.http "tls" $certificate -}}
{{- $_ := set $defaults.http "public_url" (printf "https://%s:%s" (include "portcullis.host" $) .) -}}
{{- end -}}
{{- mergeOverwrite $defaults (deepCopy $given) $own | toJson -}}
{{- end }}

{{/* The port of an address: HOST:PORT. */}}
{{- define "portcullis.port" -}}
{{- regexFind "[0-9]+$" . -}}
{{- end }}

{{/*
The members that the container has in both shapes. It takes `root`, `configuration` of this container, `directory`, which is the name of
the Secret with the URL, and `env`.
*/}}
{{- define "portcullis.container" -}}
{{- $health := include "portcullis.port" .configuration.health.address -}}
name: portcullis
image: {{ include "portcullis.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args: [serve, --config, /etc/portcullis/config.json]
env:
  # Otherwise the image sets it.
  - { name: PORTCULLIS_HEALTH_ADDRESS, value: {{ .configuration.health.address | quote }} }
  {{- include "portcullis.directoryUrl" . | nindent 2 }}
  {{- with .env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
# The first start of a new version may upgrade a large directory for minutes.
startupProbe:
  httpGet: { path: /readyz, port: {{ $health }} }
  periodSeconds: 1
  failureThreshold: 600
livenessProbe:
  httpGet: { path: /healthz, port: {{ $health }} }
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: { path: /readyz, port: {{ $health }} }
  periodSeconds: 5
{{ include "portcullis.containerSecurity" . }}
{{- end }}

{{/* A sidecar that follows others has no database. */}}
{{- define "portcullis.directoryUrl" -}}
{{- if and .directory (not (dig "directory" "hub" dict .configuration)) -}}
# The password of the database is in it, so it is not in the ConfigMap.
- name: PORTCULLIS_DIRECTORY_URL
  valueFrom: { secretKeyRef: { name: {{ .directory }}, key: url } }
{{- end -}}
{{- end }}

{{- define "portcullis.containerSecurity" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "portcullis.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
# The group that may read the files of the Secrets.
fsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* What the pods may reach: names, PostgreSQL, and what the values name. */}}
{{- define "portcullis.egress" -}}
- ports:
    - { port: 53, protocol: UDP }
    - { port: 53, protocol: TCP }
{{- if and .Values.secrets.directory (not (dig "directory" "hub" dict .Values.configuration)) }}
- ports:
    - { port: {{ .Values.networkPolicy.databasePort }} }
{{- end }}
{{- with .Values.networkPolicy.egress }}
{{ toYaml . }}
{{- end }}
{{- end }}

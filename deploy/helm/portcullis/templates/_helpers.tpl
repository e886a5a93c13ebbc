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
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "portcullis.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end }}

{{/* The members that the container has in both shapes. */}}
{{- define "portcullis.container" -}}
name: portcullis
image: {{ include "portcullis.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args: [serve, --config, /etc/portcullis/config.json]
env:
  # The password of the database is in it, so it is not in the ConfigMap.
  - name: PORTCULLIS_DIRECTORY_URL
    valueFrom: { secretKeyRef: { name: {{ .Values.secrets.directory }}, key: url } }
# The first start of a new version may upgrade a large directory for minutes.
startupProbe:
  httpGet: { path: /readyz, port: 8181 }
  periodSeconds: 1
  failureThreshold: 600
livenessProbe:
  httpGet: { path: /healthz, port: 8181 }
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: { path: /readyz, port: 8181 }
  periodSeconds: 5
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
  seccompProfile: { type: RuntimeDefault }
{{- end }}

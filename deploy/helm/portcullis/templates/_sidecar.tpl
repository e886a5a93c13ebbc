{{/*
A sidecar for the chart of an application, which depends on this one with `standalone: false`. Each takes `.Subcharts.portcullis`:

  portcullis.sidecar.configMap   an object of its own
  portcullis.sidecar.container   an item of initContainers
  portcullis.sidecar.volumes     items of volumes
  portcullis.sidecar.mount       an item of volumeMounts of the application's container
  portcullis.sidecar.env         an item of env of the application's container

The pod needs `fsGroup: 10001`, the group of the socket and of the files of the Secret.
*/}}
{{- define "portcullis.sidecar.configuration" -}}
{{- $defaults := dict
  "http" (dict "address" "off")
  "health" (dict "address" "0.0.0.0:8181")
  "administrator_token" false -}}
{{- if .Values.sidecar.data }}{{ $_ := set $defaults "directory" (dict "known_folder" "/var/lib/portcullis-known") }}{{ end -}}
{{- $own := dict
  "grpc" (dict "address" "unix:/run/portcullis/grpc.sock")
  "data" "/var/lib/portcullis" -}}
{{- mergeOverwrite $defaults (deepCopy .Values.sidecar.configuration) $own | toPrettyJson -}}
{{- end }}

{{- define "portcullis.sidecar.configMap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "portcullis.name" . }}-sidecar
  labels:
    {{- include "portcullis.labels" . | nindent 4 }}
data:
  config.json: |
    {{- include "portcullis.sidecar.configuration" . | nindent 4 }}
{{- end }}

{{- define "portcullis.sidecar.container" -}}
{{/* An init container that goes on is a sidecar: the others start when its startup probe has succeeded, and it ends after them. */ -}}
{{- $configuration := include "portcullis.sidecar.configuration" . | fromJson }}
{{- $container := dict "root" . "configuration" $configuration "directory" .Values.secrets.directory "env" .Values.sidecar.env -}}
- restartPolicy: Always
  {{- include "portcullis.container" $container | nindent 2 }}
  ports:
    - { name: health, containerPort: {{ include "portcullis.port" $configuration.health.address }} }
  resources:
    {{- toYaml .Values.sidecar.resources | nindent 4 }}
  volumeMounts:
    - { name: portcullis-config, mountPath: /etc/portcullis, readOnly: true }
    - { name: portcullis-data, mountPath: /var/lib/portcullis, readOnly: {{ not (empty .Values.sidecar.data) }} }
    {{- if .Values.sidecar.data }}
    - { name: portcullis-known, mountPath: /var/lib/portcullis-known }
    {{- end }}
    - { name: portcullis-socket, mountPath: /run/portcullis }
    {{- with .Values.sidecar.volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{- define "portcullis.sidecar.volumes" -}}
- name: portcullis-config
  configMap: { name: {{ include "portcullis.name" . }}-sidecar }
# No container of the application mounts it.
- name: portcullis-data
{{- if .Values.sidecar.data }}
  secret: { secretName: {{ .Values.sidecar.data }}, defaultMode: 288 }
# This pod's knowledge of the directory, and its changes: docs/operate/postgresql.md. A larger one gets the pod evicted.
- name: portcullis-known
  emptyDir: { sizeLimit: 1Gi }
{{- else }}
  emptyDir: { sizeLimit: 1Mi }
{{- end }}
{{- with .Values.sidecar.volumes }}
{{ toYaml . }}
{{- end }}
- name: portcullis-socket
  emptyDir: { medium: Memory, sizeLimit: 1Mi }
{{- end }}

{{- define "portcullis.sidecar.mount" -}}
# Read-only: it may connect to the socket, and put nothing in its place.
- { name: portcullis-socket, mountPath: /run/portcullis, readOnly: true }
{{- end }}

{{- define "portcullis.sidecar.env" -}}
- { name: PORTCULLIS_GRPC_ADDRESS, value: "unix:/run/portcullis/grpc.sock" }
{{- end }}

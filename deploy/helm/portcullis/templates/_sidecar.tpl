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
{{- $own := dict
  "grpc" (dict "address" "unix:/run/portcullis/grpc.sock")
  "http" (dict "address" "off")
  "health" (dict "address" "0.0.0.0:8181")
  "data" "/var/lib/portcullis"
  "administrator_token" false -}}
{{- mergeOverwrite (deepCopy .Values.sidecar.configuration) $own | toPrettyJson -}}
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
- restartPolicy: Always
  {{- include "portcullis.container" . | nindent 2 }}
  ports:
    - { name: health, containerPort: 8181 }
  resources:
    {{- toYaml .Values.sidecar.resources | nindent 4 }}
  volumeMounts:
    - { name: portcullis-config, mountPath: /etc/portcullis, readOnly: true }
    - { name: portcullis-data, mountPath: /var/lib/portcullis, readOnly: true }
    - { name: portcullis-socket, mountPath: /run/portcullis }
{{- end }}

{{- define "portcullis.sidecar.volumes" -}}
- name: portcullis-config
  configMap: { name: {{ include "portcullis.name" . }}-sidecar }
# No container of the application mounts it.
- name: portcullis-data
  secret: { secretName: {{ .Values.sidecar.data }}, defaultMode: 288 }
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

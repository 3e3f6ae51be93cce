{{- define "tollgate.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "tollgate.labels" -}}
app.kubernetes.io/name: tollgate
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end -}}

{{/* Context: a dict with root and component. */}}
{{- define "tollgate.selector" -}}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "tollgate.image" -}}
{{- $image := .root.Values.image -}}
{{- with $image.registry }}{{ . }}/{{ end }}{{ $image.repository }}/{{ .app }}:{{ $image.tag | default .root.Chart.AppVersion }}
{{- end -}}

{{- define "tollgate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* Only the named keys of a Secret, so that a pod knows nothing that it does not need. */}}
{{- define "tollgate.secretEnv" -}}
{{- $secret := .secret -}}
{{- range .keys }}
- name: {{ . }}
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ . }} } }
{{- end }}
{{- end -}}

{{/* As secretEnv, of keys that the Secret need not have. */}}
{{- define "tollgate.optionalSecretEnv" -}}
{{- $secret := .secret -}}
{{- range .keys }}
- name: {{ . }}
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ . }}, optional: true } }
{{- end }}
{{- end -}}

{{/* Node adds these authorities to its own, for PostgreSQL, Redis and upstreams. */}}
{{- define "tollgate.caEnv" -}}
{{- if .Values.extraCa.configMapName }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/tollgate/ca/{{ .Values.extraCa.key }}
{{- end }}
{{- end -}}

{{- define "tollgate.caMount" -}}
{{- if .Values.extraCa.configMapName }}
- { name: ca, mountPath: /etc/tollgate/ca, readOnly: true }
{{- end }}
{{- end -}}

{{- define "tollgate.caVolume" -}}
{{- with .Values.extraCa.configMapName }}
- { name: ca, configMap: { name: {{ . }} } }
{{- end }}
{{- end -}}

{{- define "tollgate.extraEnv" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{- define "tollgate.spread" -}}
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- include "tollgate.selector" . | nindent 6 }}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- include "tollgate.selector" . | nindent 6 }}
{{- end -}}

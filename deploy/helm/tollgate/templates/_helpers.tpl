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

{{/* What control planes and nodes share; Node adds the authorities to its own, for PostgreSQL, Redis and upstreams. */}}
{{- define "tollgate.commonEnv" -}}
- name: SHARDS
  value: {{ .Values.shards | quote }}
- name: LOG_LEVEL
  value: {{ .Values.logLevel }}
- name: TRUSTED_PROXIES
  value: {{ .Values.trustedProxies | quote }}
- name: UPSTREAM_ALLOW_PRIVATE
  value: {{ .Values.upstreamAllowPrivate | quote }}
{{- include "tollgate.caEnv" . }}
{{- end -}}

{{- define "tollgate.caEnv" -}}
{{- if .Values.extraCa.configMapName }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/tollgate/ca/{{ .Values.extraCa.key }}
{{- end }}
{{- end -}}

{{/* Variables of the chart with those of the operator, who wins: a name is there once. Context: a dict with own (text) and extra. */}}
{{- define "tollgate.env" -}}
{{- $extra := .extra | default dict -}}
{{- range fromYamlArray .own }}
{{- if not (hasKey $extra .name) }}
- {{ toYaml . | nindent 2 | trim }}
{{- end }}
{{- end }}
{{- range $name, $value := $extra }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{/* Context: a dict with root and part, which is controlPlane or proxyNode. */}}
{{- define "tollgate.mounts" -}}
- { name: tmp, mountPath: /tmp }
{{- if .root.Values.extraCa.configMapName }}
- { name: ca, mountPath: /etc/tollgate/ca, readOnly: true }
{{- end }}
{{- with .part.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "tollgate.volumes" -}}
- { name: tmp, emptyDir: {} }
{{- with .root.Values.extraCa.configMapName }}
- { name: ca, configMap: { name: {{ . }} } }
{{- end }}
{{- with .part.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "tollgate.scheduling" -}}
imagePullSecrets: {{- toYaml .root.Values.imagePullSecrets | nindent 2 }}
securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
nodeSelector: {{- toYaml .root.Values.nodeSelector | nindent 2 }}
tolerations: {{- toYaml .root.Values.tolerations | nindent 2 }}
{{- with .part.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* Context: a dict with root, part and name. */}}
{{- define "tollgate.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  labels: {{- include "tollgate.labels" .root | nindent 4 }}
  {{- with .part.serviceAccount.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
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

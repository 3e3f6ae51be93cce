import { z } from 'zod';

const VOLUMES = new Set([
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
]);
const ADDED_CAPABILITIES = new Set(['NET_BIND_SERVICE']);
const SECCOMP = new Set(['RuntimeDefault', 'Localhost']);

const securityContext = z.looseObject({
  runAsNonRoot: z.boolean().optional(),
  runAsUser: z.number().optional(),
  privileged: z.boolean().optional(),
  allowPrivilegeEscalation: z.boolean().optional(),
  readOnlyRootFilesystem: z.boolean().optional(),
  procMount: z.string().optional(),
  seccompProfile: z.looseObject({ type: z.string() }).optional(),
  sysctls: z.array(z.unknown()).optional(),
  capabilities: z
    .object({ drop: z.array(z.string()).optional(), add: z.array(z.string()).optional() })
    .optional(),
});
type SecurityContext = z.output<typeof securityContext>;

const container = z.looseObject({
  name: z.string(),
  securityContext: securityContext.optional(),
  ports: z.array(z.looseObject({ hostPort: z.number().optional() })).optional(),
});
const podSpec = z.looseObject({
  hostNetwork: z.boolean().optional(),
  hostPID: z.boolean().optional(),
  hostIPC: z.boolean().optional(),
  automountServiceAccountToken: z.boolean().optional(),
  securityContext: securityContext.optional(),
  volumes: z.array(z.looseObject({ name: z.string() })).optional(),
  initContainers: z.array(container).optional(),
  containers: z.array(container).min(1),
});

/**
 * Lists the settings of a pod that the profile "restricted" of the Pod Security Standards forbids
 * (https://kubernetes.io/docs/concepts/security/pod-security-standards/), and two rules of this chart: a read-only root and no token of the API.
 */
export function podViolations(pod: unknown): string[] {
  const spec = podSpec.parse(pod);
  const found: string[] = [];
  for (const name of ['hostNetwork', 'hostPID', 'hostIPC'] as const)
    if (spec[name]) found.push(`${name} is set`);
  if (spec.automountServiceAccountToken !== false) found.push('a token of the API is mounted');
  for (const { name, ...source } of spec.volumes ?? [])
    for (const kind of Object.keys(source))
      if (!VOLUMES.has(kind)) found.push(`volume ${name} is a ${kind}`);
  if ((spec.securityContext?.sysctls ?? []).length > 0) found.push('sysctls are set');
  for (const each of [...(spec.initContainers ?? []), ...spec.containers])
    found.push(
      ...containerViolations(each, spec.securityContext ?? {}).map(
        (problem) => `container ${each.name}: ${problem}`,
      ),
    );
  return found;
}

function containerViolations(
  { securityContext: own = {}, ports = [] }: z.output<typeof container>,
  ofPod: SecurityContext,
): string[] {
  const rules: [isBroken: boolean, problem: string][] = [
    [(own.runAsNonRoot ?? ofPod.runAsNonRoot) !== true, 'runAsNonRoot is not true'],
    [(own.runAsUser ?? ofPod.runAsUser) === 0, 'runs as user 0'],
    [own.privileged === true, 'is privileged'],
    [own.allowPrivilegeEscalation !== false, 'allowPrivilegeEscalation is not false'],
    [own.readOnlyRootFilesystem !== true, 'readOnlyRootFilesystem is not true'],
    [own.capabilities?.drop?.includes('ALL') !== true, 'does not drop ALL capabilities'],
    [
      (own.capabilities?.add ?? []).some((name) => !ADDED_CAPABILITIES.has(name)),
      'adds capabilities',
    ],
    [
      !SECCOMP.has((own.seccompProfile ?? ofPod.seccompProfile)?.type ?? ''),
      'has no seccomp profile',
    ],
    [(own.procMount ?? 'Default') !== 'Default', 'has another procMount'],
    [ports.some(({ hostPort = 0 }) => hostPort !== 0), 'has a host port'],
  ];
  return rules.flatMap(([isBroken, problem]) => (isBroken ? [problem] : []));
}

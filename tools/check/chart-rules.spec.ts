import { expect, test } from '@jest/globals';
import { podViolations } from '../src/deploy/pod-security.ts';
import { chartViolations, resourcesOf } from '../src/deploy/rendered-chart.ts';

const GOOD = {
  automountServiceAccountToken: false,
  securityContext: {
    runAsNonRoot: true,
    runAsUser: 1000,
    seccompProfile: { type: 'RuntimeDefault' },
  },
  volumes: [{ name: 'tmp', emptyDir: {} }],
  containers: [
    {
      name: 'app',
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
    },
  ],
};
const app = (securityContext: object, more: object = {}): object => ({
  ...GOOD,
  containers: [
    {
      ...GOOD.containers[0],
      ...more,
      securityContext: { ...GOOD.containers[0]?.securityContext, ...securityContext },
    },
  ],
});

test('a restricted pod passes', () => {
  expect(podViolations(GOOD)).toEqual([]);
});

test.each([
  ['the network of the host', { ...GOOD, hostNetwork: true }],
  ['the processes of the host', { ...GOOD, hostPID: true }],
  ['a folder of the host', { ...GOOD, volumes: [{ name: 'x', hostPath: { path: '/' } }] }],
  ['a token of the API', { ...GOOD, automountServiceAccountToken: true }],
  ['kernel settings', { ...GOOD, securityContext: { ...GOOD.securityContext, sysctls: [{}] } }],
  ['user 0', app({ runAsUser: 0 })],
  ['any user', { ...app({}), securityContext: { seccompProfile: { type: 'RuntimeDefault' } } }],
  ['no seccomp', { ...GOOD, securityContext: { runAsNonRoot: true } }],
  ['seccomp switched off', app({ seccompProfile: { type: 'Unconfined' } })],
  ['privileges', app({ privileged: true })],
  ['escalation', app({ allowPrivilegeEscalation: undefined })],
  ['a writable root', app({ readOnlyRootFilesystem: false })],
  ['capabilities', app({ capabilities: { drop: ['ALL'], add: ['SYS_ADMIN'] } })],
  ['capabilities that are kept', app({ capabilities: { drop: ['NET_RAW'] } })],
  ['a port of the host', app({}, { ports: [{ containerPort: 80, hostPort: 80 }] })],
  ['an open init container', { ...GOOD, initContainers: [{ name: 'init' }] }],
])('a pod with %s is refused', (_, pod) => {
  expect(podViolations(pod)).not.toEqual([]);
});

test('a secret written into a pod, and a Secret in the chart, are refused; references are not', () => {
  const pod = (environment: string): string => `
kind: Deployment
metadata: { name: app }
spec:
  template:
    spec: ${JSON.stringify({ ...GOOD, containers: [{ ...GOOD.containers[0], env: 'ENV' }] }).replace('"ENV"', environment)}
`;
  const judge = (manifest: string): string[] => chartViolations(resourcesOf(manifest));
  expect(
    judge(
      pod(
        '[{ "name": "DATABASE_URL", "valueFrom": {} }, { "name": "CONTROL_PLANE_URL", "value": "http://x" }]',
      ),
    ),
  ).toEqual([]);
  expect(judge(pod('[{ "name": "DATABASE_URL", "value": "postgresql://x" }]'))).toHaveLength(1);
  expect(judge(pod('[{ "name": "ENCRYPTION_KEY_NEXT", "value": "x" }]'))).toHaveLength(1);
  expect(judge('kind: Secret\nmetadata: { name: tollgate }\n')).toHaveLength(1);
});

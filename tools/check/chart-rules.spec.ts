import { expect, test } from '@jest/globals';
import { podViolations } from '../src/deploy/pod-security.ts';
import { chartViolations, resourcesOf } from '../src/deploy/rendered-chart.ts';
import { updateViolations } from '../src/deploy/update-rules.ts';

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

test('a secret written into a pod, a variable that it has twice, and a Secret in the chart, are refused; references are not', () => {
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
  const twice =
    '[{ "name": "LOG_LEVEL", "value": "info" }, { "name": "LOG_LEVEL", "value": "debug" }]';
  expect(judge(pod(twice))).toEqual([
    expect.stringContaining('LOG_LEVEL is written into the pod twice'),
  ]);
  expect(judge('kind: Secret\nmetadata: { name: tollgate }\n')).toHaveLength(1);
});

const WORKLOADS = `
kind: Deployment
metadata: { name: plane }
spec:
  selector: { matchLabels: { app: plane } }
  strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }
  template:
    spec:
      terminationGracePeriodSeconds: 30
      containers: [{ lifecycle: { preStop: { exec: { command: [node, -e, 'setTimeout(() => {}, 5000)'] } } } }]
---
kind: StatefulSet
metadata: { name: node }
spec:
  selector: { matchLabels: { app: node } }
  updateStrategy: { type: RollingUpdate, rollingUpdate: { partition: 0, maxUnavailable: 1 } }
  template:
    spec:
      terminationGracePeriodSeconds: 130
      containers:
        - env: [{ name: DRAIN_TIMEOUT_MS, value: '110000' }]
          lifecycle: { preStop: { exec: { command: [node, -e, 'setTimeout(() => {}, 5000)'] } } }
---
kind: PodDisruptionBudget
metadata: { name: plane }
spec: { maxUnavailable: 1, selector: { matchLabels: { app: plane } } }
---
kind: PodDisruptionBudget
metadata: { name: node }
spec: { maxUnavailable: 1, selector: { matchLabels: { app: node } } }
`;

test.each([
  ['as the chart has them', '', '', []],
  ['with a control plane less', 'maxUnavailable: 0', 'maxUnavailable: 1', ['Deployment plane: an']],
  ['that wait to be deleted', 'type: RollingUpdate', 'type: OnDelete', ['StatefulSet node: an up']],
  ['of which some keep the release', 'partition: 0', 'partition: 1', ['StatefulSet node: an up']],
  [
    'without a budget',
    'maxUnavailable: 1, selector: { matchLabels: { app: node',
    'maxUnavailable: 1, selector: { matchLabels: { app: other',
    ['StatefulSet node: has no Pod'],
  ],
  ['that end at once', '5000', '0', ['Deployment plane: is to end']],
  ['that drain longer than they may', "'110000'", "'130000'", ['StatefulSet node: is killed']],
])('workloads %s are judged by what an update does to them', (_, from, to, problems) => {
  const changed = WORKLOADS.replace(from, to);
  expect(updateViolations(resourcesOf(changed))).toEqual(
    problems.map((problem) => expect.stringContaining(problem)),
  );
});

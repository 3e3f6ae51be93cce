import { z } from 'zod';
import type { Resource } from './rendered-chart.ts';

/** Endpoints are withdrawn within this time, while a pod that is to end serves on. */
const NOTICE_SECONDS = 5;

const selector = z.looseObject({ matchLabels: z.record(z.string(), z.string()) });
const container = z.looseObject({
  env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]),
  lifecycle: z
    .looseObject({ preStop: z.looseObject({ exec: z.object({ command: z.array(z.string()) }) }) })
    .optional(),
});
const workload = z.looseObject({
  selector,
  strategy: z
    .looseObject({
      rollingUpdate: z.object({ maxUnavailable: z.unknown(), maxSurge: z.unknown() }),
    })
    .optional(),
  updateStrategy: z
    .looseObject({
      type: z.string(),
      rollingUpdate: z.looseObject({ partition: z.number() }).optional(),
    })
    .optional(),
  template: z.looseObject({
    spec: z.looseObject({
      terminationGracePeriodSeconds: z.number().default(30),
      containers: z.array(container),
    }),
  }),
});

/** Returns what of the rendered chart would lose requests in an update, or stop it. */
export function updateViolations(resources: readonly Resource[]): string[] {
  const budgets = resources
    .filter(({ kind }) => kind === 'PodDisruptionBudget')
    .map(({ spec }) => JSON.stringify(selector.parse(spec?.['selector'])));
  return resources
    .filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
    .flatMap(({ kind, metadata, spec }) =>
      problemsOf(kind, workload.parse(spec), budgets).map(
        (problem) => `${kind} ${metadata.name}: ${problem}`,
      ),
    );
}

function problemsOf(
  kind: string,
  { selector: of, strategy, updateStrategy, template }: z.output<typeof workload>,
  budgets: readonly string[],
): string[] {
  const { terminationGracePeriodSeconds: grace, containers } = template.spec;
  const { maxUnavailable, maxSurge } = strategy?.rollingUpdate ?? {};
  const isInTurn =
    updateStrategy?.type === 'RollingUpdate' && updateStrategy.rollingUpdate?.partition === 0;
  const notices = containers.map(noticeSeconds);
  const rules: [isBroken: boolean, problem: string][] = [
    [
      kind === 'Deployment' && (maxUnavailable !== 0 || maxSurge === 0),
      'an update takes a pod away before its successor is ready',
    ],
    [kind === 'StatefulSet' && !isInTurn, 'an update does not replace every pod in turn'],
    [!budgets.includes(JSON.stringify(of)), 'has no PodDisruptionBudget'],
    [
      notices.some((seconds) => seconds < NOTICE_SECONDS),
      `is to end before ${NOTICE_SECONDS} s of notice`,
    ],
    [
      containers.some((each, index) => grace <= (notices[index] ?? 0) + drainSeconds(each)),
      `is killed after ${grace} s, before it has drained`,
    ],
  ];
  return rules.flatMap(([isBroken, problem]) => (isBroken ? [problem] : []));
}

/** Returns how long its `preStop` waits; the images have no shell. */
function noticeSeconds({ lifecycle }: z.output<typeof container>): number {
  const command = lifecycle?.preStop.exec.command.join(' ') ?? '';
  return Number(/setTimeout\(\(\) => \{\}, (\d+)\)/.exec(command)?.[1] ?? 0) / 1_000;
}

function drainSeconds({ env }: z.output<typeof container>): number {
  return Number(env.find(({ name }) => name === 'DRAIN_TIMEOUT_MS')?.value ?? 0) / 1_000;
}

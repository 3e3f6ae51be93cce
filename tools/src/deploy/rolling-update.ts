import { z } from 'zod';
import type { ApiServer, Manifest } from './api-server.ts';
import { NAMESPACE, PodStage, type Pod } from './pod-stage.ts';

const CLAIMS = `/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims`;
/** An update that waits for a node out of service is watched for this long: several steps of a pod. */
const WATCHED_MS = 3_000;

const withReplicas = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({
    replicas: z.number(),
    template: z.looseObject({
      spec: z.looseObject({ terminationGracePeriodSeconds: z.number() }),
    }),
  }),
});
const claims = z.object({
  items: z.array(z.object({ metadata: z.object({ name: z.string(), uid: z.string() }) })),
});

interface Scale {
  readonly nodes: number;
  readonly planes: number;
  readonly graceSeconds: number;
}

/** Holds what the pods looked like while an update went through. */
interface Course {
  fewestNodes: number;
  fewestPlanes: number;
  /** Lists nodes in the order in which they ended. */
  readonly ended: Set<string>;
  readonly graces: Set<number>;
}

/**
 * Installs the chart, updates it, evicts nodes, and updates it beside a node that is out of service, with Kubernetes' own controllers.
 * Returns what is not as docs/operations.md says; none when all is.
 */
export async function updateProblems(
  server: ApiServer,
  render: (tag: string) => Manifest[],
): Promise<string[]> {
  const stage = new PodStage(server);
  const scale = scaleOf(render('1.0.0'));
  const apply = async (tag: string): Promise<void> => {
    for (const manifest of render(tag).filter(({ kind }) => kind !== 'Job'))
      await server.apply(manifest, { namespace: NAMESPACE, isDryRun: false });
  };
  const count = scale.nodes + scale.planes;
  const isAll = (tag: string) => (now: readonly Pod[]) =>
    now.length === count && now.every(({ image, isReady }) => isReady && image.endsWith(`:${tag}`));
  await apply('1.0.0');
  await stage.until('every pod of the first release is ready', isAll('1.0.0'));
  const before = await claimsOf(server);
  const course = newCourse();
  await apply('2.0.0');
  await stage.until('every pod of the second release is ready', isAll('2.0.0'), (now) =>
    note(course, now),
  );
  const kept = await claimsOf(server);
  return [
    ...courseProblems(course, scale),
    ...(kept === before && kept !== '' ? [] : [`journals were ${before}, then ${kept}`]),
    ...(await evictionProblems(stage, isAll('2.0.0'))),
    ...(await standstillProblems({ stage, apply, scale, isAll })),
  ];
}

function scaleOf(manifests: readonly Manifest[]): Scale {
  const of = (kind: string): z.output<typeof withReplicas> =>
    withReplicas.parse(manifests.find((each) => each.kind === kind));
  const nodes = of('StatefulSet').spec;
  return {
    nodes: nodes.replicas,
    planes: of('Deployment').spec.replicas,
    graceSeconds: nodes.template.spec.terminationGracePeriodSeconds,
  };
}

function newCourse(): Course {
  return { fewestNodes: Infinity, fewestPlanes: Infinity, ended: new Set(), graces: new Set() };
}

function note(course: Course, now: readonly Pod[]): void {
  const ready = (component: string): number =>
    now.filter((pod) => pod.component === component && pod.isReady).length;
  course.fewestNodes = Math.min(course.fewestNodes, ready('proxy-node'));
  course.fewestPlanes = Math.min(course.fewestPlanes, ready('control-plane'));
  for (const { component, name, graceSeconds } of now)
    if (component === 'proxy-node' && graceSeconds !== null) {
      course.ended.add(name);
      course.graces.add(graceSeconds);
    }
}

function courseProblems(course: Course, scale: Scale): string[] {
  const { fewestNodes, fewestPlanes, ended, graces } = course;
  const order = Array.from({ length: scale.nodes }, (_, index) => scale.nodes - 1 - index).join();
  const seen = [...ended].map((name) => name.split('-').at(-1)).join();
  const rules: [isBroken: boolean, problem: string][] = [
    [fewestPlanes < scale.planes, `${fewestPlanes} control planes were ready, of ${scale.planes}`],
    [fewestNodes < scale.nodes - 1, `${fewestNodes} nodes were ready, of ${scale.nodes}`],
    [seen !== order, `nodes were replaced in the order ${seen}, not ${order}`],
    [
      [...graces].join() !== String(scale.graceSeconds),
      `nodes had ${[...graces].join()} s to end, not ${scale.graceSeconds}`,
    ],
  ];
  return rules.flatMap(([isBroken, problem]) => (isBroken ? [problem] : []));
}

/** The budget lets one node be evicted, and no second one beside it. */
async function evictionProblems(
  stage: PodStage,
  isWhole: (now: readonly Pod[]) => boolean,
): Promise<string[]> {
  const [first = '', next = ''] = nodeNames(await stage.play());
  let answer = 0;
  // The budget's controller follows the pods after a moment.
  for (const endsAt = Date.now() + WATCHED_MS; answer !== 201 && Date.now() < endsAt;) {
    await stage.play();
    answer = await stage.evict(first);
  }
  const second = await stage.evict(next);
  await stage.until('the evicted node is back', isWhole);
  return [
    ...(answer === 201 ? [] : [`the eviction of ${first} was answered ${answer}`]),
    ...(second === 429 ? [] : [`the eviction of a second node was answered ${second}, not 429`]),
  ];
}

interface Standstill {
  readonly stage: PodStage;
  readonly scale: Scale;
  readonly apply: (tag: string) => Promise<void>;
  readonly isAll: (tag: string) => (now: readonly Pod[]) => boolean;
}

/** Beside a node that is out of service an update stops after that node, the others serve, and deleting them one by one ends it. */
async function standstillProblems({ stage, scale, apply, isAll }: Standstill): Promise<string[]> {
  const names = nodeNames(await stage.play());
  const last = names.at(-1) ?? '';
  const isReady = (name: string, now: readonly Pod[]): boolean =>
    now.some((pod) => pod.name === name && pod.isReady);
  stage.outOfService.add(last);
  await stage.until(`${last} is out of service`, (now) => !isReady(last, now));
  await apply('3.0.0');
  const course = newCourse();
  const look = (now: readonly Pod[]): void => note(course, now);
  const endsAt = Date.now() + WATCHED_MS;
  await stage.until('the update was watched', () => Date.now() > endsAt, look);
  const replaced = [...course.ended].join();
  for (const name of names.slice(0, -1).toReversed()) {
    await stage.remove(name);
    await stage.until(`${name} ends`, (now) => !isReady(name, now), look);
    await stage.until(`${name} is back`, (now) => isReady(name, now), look);
  }
  stage.outOfService.delete(last);
  await stage.until('every pod of the third release is ready', isAll('3.0.0'));
  const { fewestNodes } = course;
  return [
    ...(replaced === last
      ? []
      : [`beside ${last}, out of service, an update replaced ${replaced}`]),
    ...(fewestNodes >= scale.nodes - 2 ? [] : [`beside ${last} only ${fewestNodes} nodes served`]),
  ];
}

function nodeNames(now: readonly Pod[]): string[] {
  return now
    .filter(({ component }) => component === 'proxy-node')
    .map(({ name }) => name)
    .toSorted();
}

async function claimsOf(server: ApiServer): Promise<string> {
  const { items } = claims.parse(JSON.parse((await server.send('GET', CLAIMS)).body));
  return items
    .map(({ metadata: { name, uid } }) => `${name} ${uid}`)
    .toSorted()
    .join();
}

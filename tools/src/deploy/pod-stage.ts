import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { ApiServer } from './api-server.ts';

export const NAMESPACE = 'tollgate';
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const TICK_MS = 50;
/** A pod takes this long for each step to become ready, and to end. */
const STEP_MS = 200;
const CONDITION_MS = 60_000;

const pods = z.object({
  items: z.array(
    z.object({
      metadata: z.object({
        name: z.string(),
        uid: z.string(),
        labels: z.record(z.string(), z.string()),
        deletionTimestamp: z.string().optional(),
        deletionGracePeriodSeconds: z.number().optional(),
      }),
      spec: z.object({
        nodeName: z.string().optional(),
        containers: z.array(z.object({ image: z.string() })),
      }),
      status: z.object({
        conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]),
      }),
    }),
  ),
});

export interface Pod {
  readonly name: string;
  /** Is `proxy-node` or `control-plane`. */
  readonly component: string;
  readonly image: string;
  readonly isReady: boolean;
  /** Counts the seconds that it has to end, once it is to end. */
  readonly graceSeconds: number | null;
}

type Item = z.output<typeof pods>['items'][number];

/** Does to the pods of an API server what scheduler and kubelets do, without running a container: binds them, makes them ready, lets them end. */
export class PodStage {
  /** Lists pods that run but never become ready. */
  readonly outOfService = new Set<string>();
  readonly #server: ApiServer;
  /** Holds since when each has been in its present step, by its uid. */
  readonly #since = new Map<string, number>();

  constructor(server: ApiServer) {
    this.#server = server;
  }

  /** Plays until the pods are as wanted; throws when that takes too long. `look` sees every moment. */
  async until(
    what: string,
    isWanted: (now: readonly Pod[]) => boolean,
    look: (now: readonly Pod[]) => void = () => undefined,
  ): Promise<void> {
    for (const deadline = Date.now() + CONDITION_MS; ; await delay(TICK_MS)) {
      const now = await this.play();
      look(now);
      if (isWanted(now)) return;
      if (Date.now() > deadline) throw new Error(`${what}: not within ${CONDITION_MS / 1_000} s`);
    }
  }

  /** Returns the status of the answer: 201 when it may end, 429 while the disruption budget keeps it. */
  async evict(name: string): Promise<number> {
    const value = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } };
    const { status } = await this.#post(`${PODS}/${name}/eviction`, value);
    return status;
  }

  async remove(name: string): Promise<void> {
    await this.#server.send('DELETE', `${PODS}/${name}`);
  }

  /** Takes one step of each pod; answers how they were before it. */
  async play(): Promise<Pod[]> {
    const { items } = pods.parse(JSON.parse((await this.#server.send('GET', PODS)).body));
    for (const item of items) await this.#step(item);
    return items.map(podOf);
  }

  async #step(item: Item): Promise<void> {
    const { metadata, spec } = item;
    const { name, uid } = metadata;
    const isEnding = metadata.deletionTimestamp !== undefined;
    const step = `${uid} ${isEnding ? 'ends' : 'begins'}`;
    const since = this.#since.get(step) ?? Date.now();
    this.#since.set(step, since);
    const isOver = Date.now() - since >= STEP_MS;
    if (isEnding) {
      if (isOver) await this.#server.send('DELETE', `${PODS}/${name}?gracePeriodSeconds=0`);
    } else if (spec.nodeName === undefined) {
      const target = { apiVersion: 'v1', kind: 'Node', name: 'machine' };
      await this.#post(`${PODS}/${name}/binding`, {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name },
        target,
      });
    } else if (isOver && podOf(item).isReady === this.outOfService.has(name)) {
      const isReady = this.outOfService.has(name) ? 'False' : 'True';
      const conditions = [{ type: 'Ready', status: isReady }];
      await this.#server.send('PATCH', `${PODS}/${name}/status`, {
        type: 'application/merge-patch+json',
        value: { status: { phase: 'Running', conditions } },
      });
    }
  }

  #post(target: string, value: unknown): Promise<{ status: number }> {
    return this.#server.send('POST', target, { type: 'application/json', value });
  }
}

function podOf({ metadata, spec, status }: Item): Pod {
  const isReady = status.conditions.some(
    ({ type, status: is }) => type === 'Ready' && is === 'True',
  );
  const isEnding = metadata.deletionTimestamp !== undefined;
  return {
    name: metadata.name,
    component: metadata.labels['app.kubernetes.io/component'] ?? '',
    image: spec.containers[0]?.image ?? '',
    isReady: isReady && !isEnding,
    graceSeconds: isEnding ? (metadata.deletionGracePeriodSeconds ?? 0) : null,
  };
}

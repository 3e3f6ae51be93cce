import type { Tollgate } from '@tollgate/harness';
import { z } from 'zod';
import { until } from '@tollgate/harness';
import { chatStatus } from './fleet-view.ts';
import { setScene } from './steady-load.ts';

const readiness = z.looseObject({ snapshot_version: z.number().nullable() });

/** Holds milliseconds, sorted. */
export interface PropagationReport {
  /** Holds the times from an administrator's change until the answer that every node applied it, by change and sync-all. */
  acknowledged: number[];
  /** Holds the times from an administrator's change until every node's own process runs it, without a sync request. */
  automatic: number[];
  /** Requests at a node right after a key was disabled or a user frozen, and how many of them were admitted. */
  revocations: { requests: number; admitted: number };
}

/** Measures the time until all nodes follow a change, and verifies that a withdrawn access is withdrawn at once everywhere. */
export async function measurePropagation(
  tollgate: Tollgate,
  { changes }: { changes: number },
): Promise<PropagationReport> {
  const acknowledged: number[] = [];
  const automatic: number[] = [];
  const scene = await setScene(tollgate);
  for (let change = 0; change < changes; change += 1) {
    acknowledged.push(
      await timed(async () => {
        await tollgate.admin.call('PUT', `/models/${scene.model.id}`, {
          display_name: `Synced ${change}`,
        });
        const { nodes } = await tollgate.admin.syncAll();
        if (nodes.some(({ outcome }) => outcome !== 'applied'))
          throw new Error(`not applied everywhere: ${JSON.stringify(nodes)}`);
      }),
    );
    const before = Math.max(...(await versions(tollgate)));
    automatic.push(
      await timed(async () => {
        await tollgate.admin.call('PUT', `/models/${scene.model.id}`, {
          display_name: `By itself ${change}`,
        });
        await until('the change at every node', async () =>
          (await versions(tollgate)).every((version) => version > before),
        );
      }),
    );
  }
  return {
    acknowledged: acknowledged.toSorted((a, b) => a - b),
    automatic: automatic.toSorted((a, b) => a - b),
    revocations: await revoke(tollgate, scene, changes),
  };
}

async function revoke(
  tollgate: Tollgate,
  { customer, model }: Awaited<ReturnType<typeof setScene>>,
  rounds: number,
): Promise<PropagationReport['revocations']> {
  const revocations = { requests: 0, admitted: 0 };
  const { id, key } = await customer.client.createKey({
    name: 'withdrawn',
    allowed_models: '*',
    rpm: 0,
    rph: 0,
    rpd: 0,
  });
  const askEverywhere = (): Promise<number[]> =>
    Promise.all(tollgate.nodeUrls.map((origin) => chatStatus(origin, { key, model })));
  const withdrawals = [
    [`/keys/${id}/disable`, `/keys/${id}/enable`],
    [`/users/${customer.id}/freeze`, `/users/${customer.id}/unfreeze`],
  ] as const;
  for (let round = 0; round < rounds; round += 1) {
    for (const [withdraw, restore] of withdrawals) {
      await tollgate.admin.call('POST', withdraw);
      const refused = await askEverywhere();
      revocations.requests += refused.length;
      revocations.admitted += refused.filter((status) => status !== 401 && status !== 403).length;
      await tollgate.admin.call('POST', restore);
      const served = await askEverywhere();
      if (served.some((status) => status !== 200))
        throw new Error(`not served again after ${restore}: ${served.join(', ')}`);
    }
  }
  return revocations;
}

function versions(tollgate: Tollgate): Promise<number[]> {
  return Promise.all(
    tollgate.nodeUrls.map(
      async (url) =>
        readiness.parse(await (await fetch(`${url}/readyz`)).json()).snapshot_version ?? 0,
    ),
  );
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** Returns the nearest rank of sorted values. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

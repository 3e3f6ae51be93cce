import type { Tollgate } from '@tollgate/harness';
import { z } from 'zod';

const worker = z.looseObject({
  worker: z.number(),
  state: z.string(),
  version: z.number(),
  checksum: z.string(),
});
const statusAnswer = z.looseObject({
  version: z.number(),
  checksum: z.string(),
  nodes: z.array(
    z.looseObject({
      id: z.number(),
      name: z.string(),
      state: z.string(),
      version: z.number().nullable(),
      workers: z.array(worker),
    }),
  ),
});
const startedLine = z.looseObject({
  msg: z.literal('worker started'),
  index: z.number(),
  pid: z.number(),
});

export type FleetStatus = z.infer<typeof statusAnswer>;

/** Returns the fleet as administrators see it. */
export async function fleetStatus({ admin }: Pick<Tollgate, 'admin'>): Promise<FleetStatus> {
  return statusAnswer.parse(await admin.call('GET', '/proxy/status'));
}

/** Returns the outcome of a sync by node name. */
export async function syncOutcomes({
  admin,
}: Pick<Tollgate, 'admin'>): Promise<Record<string, string>> {
  return Object.fromEntries((await admin.syncAll()).nodes.map((node) => [node.name, node.outcome]));
}

/** Process ids of a node's workers by index, the newest of each: the node's log names them. */
export function workerPids(tollgate: Pick<Tollgate, 'logs'>, node: string): Map<number, number> {
  const lines = tollgate
    .logs(node)
    .split('\n')
    .filter((line) => line.includes('"worker started"'));
  return new Map(
    lines.map((line) => startedLine.parse(JSON.parse(line))).map(({ index, pid }) => [index, pid]),
  );
}

/** Status of a small request; 0 = nothing listens. */
export async function chatStatus(
  origin: string,
  { key, model }: { key: string; model: { name: string } },
): Promise<number> {
  const answer = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: model.name,
      messages: [{ role: 'user', content: '@demo tokens=2' }],
    }),
  }).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.status ?? 0;
}

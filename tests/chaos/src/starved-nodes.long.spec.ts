import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  createCustomer,
  createRoutedModel,
  letPass,
  startTollgate,
  subscribeWithKey,
  type Tollgate,
} from '@tollgate/harness';

/** Nodes that get a tenth of a core each: they answer late, and the front door must not take that for an end. */
const NODES = ['node-1', 'node-2', 'node-3'];
const SLICE_MS = 100;
const RUN_MS = 10;
const SECONDS = 40;
const CALLERS = 6;

let tollgate: Tollgate;
let key: string;
let model: string;
beforeAll(async () => {
  tollgate = await startTollgate({ nodes: NODES.length, frontDoor: true });
  const [customer, routed] = [await createCustomer(tollgate), await createRoutedModel(tollgate)];
  model = routed.name;
  key = await subscribeWithKey(customer, { modelIds: [routed.id], tokens: 10_000_000 });
  await tollgate.admin.syncAll();
}, 120_000);
afterAll(() => tollgate?.stop(), 60_000);

test('nodes that are starved to a tenth of a core are late, and no request is refused for it', async () => {
  const over = new AbortController();
  const starve = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await signal('SIGCONT');
      await letPass(RUN_MS, 'the nodes run for a tenth of the time');
      await signal('SIGSTOP');
      await letPass(SLICE_MS - RUN_MS, 'the nodes are without a core for the rest of it');
    }
    await signal('SIGCONT');
  };
  const statuses = new Map<number, number>();
  const call = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const status = await ask();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  const working = [starve(), ...Array.from({ length: CALLERS }, call)];
  await letPass(SECONDS * 1_000, 'the front door looks at each node every half second');
  over.abort();
  await Promise.all(working);
  console.log(`starved nodes: ${JSON.stringify([...statuses])}`);
  expect([...statuses.keys()]).toEqual([200]);
}, 120_000);

function signal(name: NodeJS.Signals): Promise<unknown> {
  return Promise.all(NODES.map((node) => tollgate.kill(node, name)));
}

async function ask(): Promise<number> {
  const response = await fetch(`${tollgate.frontDoorUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 5, messages: [{ role: 'user', content: 'hello' }] }),
  });
  await response.text();
  return response.status;
}

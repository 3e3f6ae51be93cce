import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { auditBooks } from '@tollgate/audit';
import {
  createCustomer,
  createRoutedModel,
  startPgBouncer,
  startTollgate,
  subscribeWithKey,
  type PgBouncer,
  type Tollgate,
} from '@tollgate/harness';
import { settledRows } from './books.ts';

const REQUESTS = 40;
const DRAIN_MS = 30_000;

describe.each(['session', 'transaction'] as const)('behind PgBouncer by %s', (poolMode) => {
  let tollgate: Tollgate;
  let bouncer: PgBouncer | undefined;

  beforeAll(async () => {
    tollgate = await startTollgate({
      nodes: 2,
      controlPlanes: 2,
      route: async (process, services) => {
        if (!process.startsWith('control-plane')) return {};
        bouncer ??= await startPgBouncer(
          { ...services, databaseUrl: services.databaseUrls.runtime },
          { poolMode },
        );
        return { DATABASE_URL: bouncer.databaseUrl };
      },
    });
  }, 120_000);
  afterAll(async () => {
    await tollgate?.stop();
    await bouncer?.process.stop();
  });

  test('two control planes start, book every request and the books close', async () => {
    const model = await createRoutedModel(tollgate);
    const customer = await createCustomer(tollgate);
    const key = await subscribeWithKey(customer, { modelIds: [model.id] });
    await tollgate.admin.syncAll();
    const rids = await Promise.all(
      Array.from({ length: REQUESTS }, (_, index) =>
        ask(tollgate, { index, key, model: model.name }),
      ),
    );
    for (const rid of rids) expect(await settledRows(tollgate, rid)).toHaveLength(1);
    const findings = await auditBooks(tollgate, { drainMs: DRAIN_MS });
    expect(findings.filter(({ problems }) => problems.length > 0)).toEqual([]);
  }, 120_000);

  test('a control plane that restarts finds the pooler as it left it', async () => {
    await tollgate.kill('control-plane', 'SIGKILL');
    await tollgate.restart('control-plane');
    const customer = await createCustomer(tollgate);
    expect(customer.id).toBeGreaterThan(0);
  }, 60_000);
});

async function ask(
  { nodeUrls }: Tollgate,
  { index, key, model }: { index: number; key: string; model: string },
): Promise<string> {
  const response = await fetch(`${nodeUrls[index % 2]}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      stream: index % 2 === 0,
      messages: [{ role: 'user', content: 'say hello' }],
    }),
  });
  await response.text();
  expect(response.status).toBe(200);
  return response.headers.get('x-request-id') ?? '';
}

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { QueryRunner } from 'typeorm';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';

const POOL = 5;

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({ DATABASE_POOL_MAX: String(POOL) });
}, 60_000);
afterAll(() => plane?.stop());

test('a request that gets no connection to PostgreSQL in time is answered 503 with Retry-After, and served when it is repeated', async () => {
  const runners: QueryRunner[] = [];
  while (runners.length < POOL) {
    const runner = plane.dataSource.createQueryRunner();
    // Background work of the control plane waits for the same connections.
    const isConnected = await runner.connect().then(
      () => true,
      () => false,
    );
    if (isConnected) runners.push(runner);
  }
  const ask = () => plane.call('GET', '/models', { token: plane.adminToken });
  try {
    const answer = await ask();
    expect(answer).toMatchObject({ status: 503, body: { code: 'service_unavailable' } });
    expect(answer.headers.get('retry-after')).toBe('5');
  } finally {
    await Promise.all(runners.map((runner) => runner.release()));
  }
  expect((await ask()).status).toBe(200);
}, 60_000);

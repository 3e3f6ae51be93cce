import { describe, expect, test } from '@jest/globals';
import { eventually } from '@tollgate/harness';
import { REDIS } from '../../platform/redis/redis.module.ts';
import {
  admin,
  fleet,
  isRegistered,
  plane,
  removed,
  startNode,
} from './speaking-nodes-under-test.ts';

const REPORTS = '{fleet}:nodes';

describe('sync', () => {
  test('answers applied only for what every live worker proved, and says what the others do', async () => {
    const silent = await startNode('silent');
    const silentId = (await isRegistered('silent')).id;
    silent.stop();
    await startNode('good');
    await startNode('good', { worker: 1 });
    await startNode('deaf', { follows: false });
    await startNode('stubborn', { refuses: 'checksum mismatch' });
    const names = ['good', 'deaf', 'stubborn'];
    const nodes = await Promise.all(names.map(isRegistered));
    // The silent one must be seen as offline before the rest is asked: 10 s after its last report.
    await eventually(
      async () =>
        expect((await admin('GET', `/proxy-nodes/${silentId}`)).body.state).toBe('offline'),
      15_000,
    );
    await eventually(
      async () =>
        expect((await admin('GET', '/admin/alerts?rule=node_offline')).body.data).toMatchObject([
          { subject: `node:${silentId}` },
        ]),
      5_000,
    );
    await admin('POST', '/models', {
      name: 'for-sync',
      price: { price_per_million: '1' },
      is_on_shelf: true,
    });

    const one = await admin('POST', `/proxy-nodes/${nodes[0]?.id}/sync-config`);
    expect(one).toMatchObject({
      status: 200,
      body: {
        nodes: [
          {
            name: 'good',
            outcome: 'applied',
            version: one.body.version,
            applied_at: expect.any(String),
          },
        ],
      },
    });
    expect(await fleet.currentVersion()).toBe(one.body.version);

    const all = await admin('POST', '/proxy-nodes/sync-all');
    expect(all.body.version).toBe(one.body.version);
    expect(
      Object.fromEntries(
        all.body.nodes.map((node: { name: string; outcome: string }) => [node.name, node.outcome]),
      ),
    ).toEqual({ good: 'applied', deaf: 'timeout', stubborn: 'failed', silent: 'offline' });
    expect(all.body.nodes.find((node: { name: string }) => node.name === 'deaf')).toMatchObject({
      version: 0,
      applied_at: null,
    });

    expect((await admin('GET', '/proxy/health')).body).toMatchObject({ status: 'degraded' });
    const check = await admin('GET', '/proxy/config-check');
    const codes = check.body.problems.map((problem: { code: string }) => problem.code);
    expect(codes).toEqual(
      expect.arrayContaining([
        'model_without_route',
        'node_offline',
        'node_drift',
        'node_refuses_snapshot',
      ]),
    );
    expect(check.body.ok).toBe(false);
    await removed(...nodes, { id: silentId });
  }, 60_000);

  test('waits for no report that another program wrote into Redis; those of no node are removed', async () => {
    await startNode('copied');
    const node = await isRegistered('copied');
    const redis = plane.app.get(REDIS);
    const text = (await redis.hget(REPORTS, 'copied:0')) ?? '';
    const old = { ...JSON.parse(text), name: 'ghost', reported_at: Date.now() - 120_000 };
    const forged = {
      'zombie:0': text,
      'copied:1': text,
      'ghost:0': JSON.stringify(old),
      'ghost:1': JSON.stringify({ ...old, worker: 1, reported_at: Date.now() + 7_200_000 }),
    };
    await redis.hset(REPORTS, forged);
    const began = performance.now();
    const { body } = await admin('POST', '/proxy-nodes/sync-all');
    expect(body.nodes).toContainEqual(
      expect.objectContaining({ name: 'copied', outcome: 'applied' }),
    );
    expect(performance.now() - began).toBeLessThan(5_000);
    await eventually(async () => {
      const left = await redis.hkeys(REPORTS);
      expect(left).toContain('copied:0');
      expect(left.filter((address: string) => address in forged)).toEqual([]);
    });
    await eventually(async () =>
      expect((await admin('GET', '/admin/alerts?rule=bad_node_proof')).body.total).toBe(0),
    );
    const { body: past } = await admin('GET', '/admin/alerts?rule=bad_node_proof&status=resolved');
    expect(past.data.map(({ subject }: { subject: string }) => subject)).toContain('node:ghost:0');
    await removed(node);
  });

  test('warns of a key that allows what names no model, and of no other', async () => {
    await admin('POST', '/models', { name: 'known_model', aliases: ['known-alias'] });
    const { body: key } = await admin('POST', '/keys', {
      name: 'mistyped',
      allowed_models: 'known_model,known-alias,known*,knownXmodel,kown*',
    });
    const { body: disabled } = await admin('POST', '/keys', {
      name: 'disabled',
      allowed_models: 'nothing-at-all',
    });
    await admin('POST', `/keys/${disabled.id}/disable`);
    const { problems } = (await admin('GET', '/proxy/config-check')).body;
    const found = problems.filter(
      ({ code }: { code: string }) => code === 'key_allows_unknown_model',
    );
    expect(found.map(({ message }: { message: string }) => message).toSorted()).toEqual([
      'a key allows "knownXmodel", which names no model',
      'a key allows "kown*", which names no model',
    ]);
    expect(found[0]).toMatchObject({ severity: 'warning', subject: { kind: 'key', id: key.id } });
  });

  test('warns of a budget that counts what names no model, and of no other', async () => {
    await admin('POST', '/models', { name: 'counted_model', aliases: ['counted-alias'] });
    const scope = { user_id: (await admin('GET', '/auth/me')).body.id };
    const budget = { scope, unit: 'requests', amount: 5, period: 'day' };
    const { body } = await admin('POST', '/budgets', {
      ...budget,
      models: 'counted_model, counted-alias,counted*,cuonted*',
    });
    const removed = await admin('POST', '/budgets', { ...budget, models: 'nothing-at-all' });
    await admin('DELETE', `/budgets/${removed.body.id}`);
    await admin('POST', '/budgets', budget);
    const { problems, ok } = (await admin('GET', '/proxy/config-check')).body;
    const found = problems.filter(
      ({ code }: { code: string }) => code === 'budget_counts_unknown_model',
    );
    expect(found).toEqual([
      {
        ...{ code: 'budget_counts_unknown_model', severity: 'warning' },
        subject: { kind: 'budget', id: body.id },
        message: 'a budget counts "cuonted*", which names no model',
      },
    ]);
    expect(typeof ok).toBe('boolean');
    await admin('DELETE', `/budgets/${body.id}`);
  });

  test('of an unknown node is 404', async () => {
    expect((await admin('POST', '/proxy-nodes/999999/sync-config')).status).toBe(404);
  });
});

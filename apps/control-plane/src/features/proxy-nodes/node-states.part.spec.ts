import { describe, expect, test } from '@jest/globals';
import { clockAbility, shardsAbility } from '@tollgate/contracts';
import { eventually } from '@tollgate/harness';
import {
  admin,
  fleet,
  isRegistered,
  nodeNamed,
  plane,
  removed,
  startNode,
} from './speaking-nodes-under-test.ts';

describe('states', () => {
  test('what was wanted of a node before a change is not written after it', async () => {
    await startNode('changing');
    const node = await isRegistered('changing');
    const waiting = async (): Promise<number> =>
      (
        await plane.dataSource.query(
          "SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%proxy_nodes%FOR SHARE%'",
        )
      )[0].count;
    await plane.dataSource.transaction(async (tx) => {
      await tx.query('UPDATE proxy_nodes SET enabled = false WHERE id = $1', [node.id]);
      await fleet.setDesired('changing', { state: 'stopped' });
      await eventually(async () => expect(await waiting()).toBe(1));
      expect(await fleet.getDesired('changing')).toMatchObject({ state: 'stopped' });
    });
    await eventually(async () =>
      expect(await fleet.getDesired('changing')).toMatchObject({ state: 'disabled' }),
    );
    await removed(node);
  });

  test('a node with another SHARDS takes no requests, with an alert, until it has the right one', async () => {
    const own = Number(plane.environment['SHARDS']);
    const speaking = await startNode('sharded', {
      reports: { abilities: [shardsAbility(2 * own)] },
    });
    const node = await isRegistered('sharded');
    const alerts = () =>
      plane.dataSource.query(
        'SELECT message, resolved_at FROM alerts WHERE rule = $1 AND subject = $2',
        ['node_misconfigured', `node:${node.id}`],
      );
    await eventually(async () =>
      expect(await fleet.getDesired('sharded')).toMatchObject({ state: 'disabled' }),
    );
    const message = `Node sharded has SHARDS=${2 * own}, this installation ${own}; it takes no requests`;
    await eventually(async () => expect(await alerts()).toEqual([{ message, resolved_at: null }]));
    speaking.stop();
    await startNode('sharded', { reports: { abilities: [shardsAbility(own)] } });
    await eventually(async () =>
      expect(await fleet.getDesired('sharded')).toMatchObject({ state: 'serve' }),
    );
    await eventually(async () =>
      expect(await alerts()).toEqual([{ message, resolved_at: expect.any(Date) }]),
    );
    await removed(node);
  });

  test('a node whose clock is wrong has one alert that says so, until it is right', async () => {
    const ahead = await startNode('late', { reports: { abilities: [clockAbility(-420_000)] } });
    const node = await isRegistered('late');
    const alerts = () =>
      plane.dataSource.query(
        'SELECT message, resolved_at FROM alerts WHERE rule = $1 AND subject = $2',
        ['node_clock', `node:${node.id}`],
      );
    const message =
      "The clock of node late is 7 minutes behind its providers' clocks; requests are signed with the providers' time meanwhile";
    await eventually(async () => expect(await alerts()).toEqual([{ message, resolved_at: null }]));
    ahead.stop();
    await startNode('late', { reports: { abilities: [] } });
    await eventually(async () =>
      expect(await alerts()).toEqual([{ message, resolved_at: expect.any(Date) }]),
    );
    await removed(node);
  });

  test('toggle, stop and start reach the node through what is wanted of it and survive', async () => {
    await startNode('worker-a');
    const a = await isRegistered('worker-a');
    await startNode('worker-b');
    const b = await isRegistered('worker-b');
    expect((await admin('POST', `/proxy-nodes/${a.id}/toggle`)).body).toMatchObject({
      enabled: false,
      state: 'disabled',
    });
    expect(await fleet.getDesired('worker-a')).toMatchObject({ state: 'disabled' });
    expect(
      (await admin('POST', `/proxy-nodes/${a.id}/toggle`, { enabled: false })).body,
    ).toMatchObject({ enabled: false });
    expect((await admin('POST', `/proxy-nodes/${a.id}/toggle`)).body).toMatchObject({
      enabled: true,
      state: 'online',
    });
    expect((await admin('POST', `/proxy/stop?node_id=${b.id}`)).body.nodes).toMatchObject([
      { id: b.id, state: 'stopped' },
    ]);
    expect(await fleet.getDesired('worker-b')).toMatchObject({ state: 'stopped' });
    expect(await fleet.getDesired('worker-a')).toMatchObject({ state: 'serve' });
    await fleet.removeDesired('worker-b');
    await eventually(async () =>
      expect(await fleet.getDesired('worker-b')).toMatchObject({ state: 'stopped' }),
    );
    expect((await admin('POST', '/proxy/start')).body.nodes).toHaveLength(2);
    expect(await fleet.getDesired('worker-b')).toMatchObject({ state: 'serve' });
    expect((await admin('POST', '/proxy/stop?node_id=999999')).status).toBe(404);
    expect((await admin('GET', '/proxy/status')).body).toMatchObject({
      version: expect.any(Number),
      nodes: [{ name: 'worker-a' }, { name: 'worker-b' }],
    });
    await removed(a, b);
  });
});

describe('in-memory tables', () => {
  test('are listed and paged per worker', async () => {
    const rows = Array.from({ length: 5 }, (_, index) => ({
      key: `k${index}`,
      value: { n: index },
    }));
    await startNode('memory', { tables: { upstream_health: rows, keys: [] } });
    await startNode('memory', { worker: 1, tables: { upstream_health: [] } });
    const node = await isRegistered('memory');
    await eventually(async () => expect((await nodeNamed('memory'))?.workers).toHaveLength(2));
    expect((await admin('GET', `/proxy/stats?node_id=${node.id}`)).body).toMatchObject({
      nodes: [
        {
          name: 'memory',
          worker: 0,
          outcome: 'answered',
          tables: [
            { table: 'upstream_health', entries: 5 },
            { table: 'keys', entries: 0 },
          ],
        },
        { worker: 1, outcome: 'answered' },
      ],
    });
    const page = await admin(
      'GET',
      `/proxy/stats/dict?node_id=${node.id}&table=upstream_health&page=2&page_size=2`,
    );
    expect(page.body).toMatchObject({
      table: 'upstream_health',
      page: 2,
      nodes: [
        { worker: 0, total: 5, rows: [{ key: 'k2' }, { key: 'k3' }] },
        { worker: 1, total: 0, rows: [] },
      ],
    });
    expect((await admin('GET', `/proxy/stats/dict?node_id=${node.id}`)).body.table).toBe(
      'upstream_health',
    );
    await removed(node);
  });
});

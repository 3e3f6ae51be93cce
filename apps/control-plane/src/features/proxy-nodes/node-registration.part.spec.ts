import { describe, expect, test } from '@jest/globals';
import { eventually } from '@tollgate/harness';
import {
  admin,
  DECLARED,
  fleet,
  isRegistered,
  nodeNamed,
  plane,
  removed,
  startNode,
} from './speaking-nodes-under-test.ts';

describe('registration', () => {
  test('a node of NODE_CREDENTIALS is there from the start, and only its own credential proves it', async () => {
    expect(await nodeNamed('declared')).toMatchObject({ self_registered: false, state: 'offline' });
    expect(await nodeNamed('other')).toBeUndefined();
    const impostor = await startNode('declared');
    await eventually(async () =>
      expect((await admin('GET', '/admin/alerts')).body.data).toContainEqual(
        expect.objectContaining({ rule: 'bad_node_proof', subject: 'node:declared:0' }),
      ),
    );
    impostor.stop();
    await startNode('declared', { credential: DECLARED });
    await removed(await isRegistered('declared'));
  });

  test('a holder of the fleet credential registers itself and is set to serve', async () => {
    await startNode('self');
    const node = await isRegistered('self');
    expect(node).toMatchObject({
      self_registered: true,
      enabled: true,
      stopped: false,
      workers: [{ worker: 0, software: 'test' }],
    });
    await eventually(async () =>
      expect(await fleet.getDesired('self')).toMatchObject({ state: 'serve' }),
    );
    await removed(node);
  });

  test('a report with an invalid proof is ignored and raises an alert; a valid one resolves it', async () => {
    const impostor = await startNode('victim', { credential: 'x'.repeat(40) });
    await eventually(async () =>
      expect((await admin('GET', '/admin/alerts?rule=bad_node_proof')).body).toMatchObject({
        total: 1,
        data: [{ severity: 'critical', subject: 'node:victim:0' }],
      }),
    );
    expect(await nodeNamed('victim')).toBeUndefined();
    await eventually(async () =>
      expect(await fleet.getDesired('victim')).toMatchObject({ state: 'unknown' }),
    );
    impostor.stop();
    await startNode('victim');
    const node = await isRegistered('victim');
    await eventually(async () =>
      expect((await admin('GET', '/admin/alerts?rule=bad_node_proof')).body.total).toBe(0),
    );
    await removed(node);
  });

  test('a node added by an administrator speaks with its own credential only, shown once', async () => {
    const created = await admin('POST', '/proxy-nodes', {
      name: 'added',
      url: 'http://10.1.2.3:8788',
    });
    expect(created).toMatchObject({
      status: 201,
      body: { name: 'added', state: 'offline', credential: expect.stringMatching(/^tg-node-/) },
    });
    const { id, credential } = created.body;
    expect(JSON.stringify((await admin('GET', `/proxy-nodes/${id}`)).body)).not.toContain(
      credential,
    );
    expect(await admin('POST', '/proxy-nodes', { name: 'added' })).toMatchObject({
      status: 409,
      body: { code: 'node_name_taken' },
    });
    const thief = await startNode('added');
    await eventually(async () =>
      expect(
        (await admin('GET', '/admin/alerts?rule=bad_node_proof&subject=node:added:0')).body.total,
      ).toBe(1),
    );
    expect(await nodeNamed('added')).toMatchObject({ state: 'offline' });
    thief.stop();
    await startNode('added', { credential });
    await removed(await isRegistered('added'));
  });

  test('the alert about an invalid report closes when its node is deleted', async () => {
    const { body } = await admin('POST', '/proxy-nodes', { name: 'leaving' });
    const thief = await startNode('leaving');
    const openAlerts = async () =>
      (await admin('GET', '/admin/alerts?rule=bad_node_proof&subject=node:leaving:0')).body.total;
    await eventually(async () => expect(await openAlerts()).toBe(1));
    await removed({ id: body.id });
    await eventually(async () => expect(await openAlerts()).toBe(0));
    thief.stop();
  });

  test('a worker shows how far Redis and its clock are from it; one that Redis has not answered shows neither', async () => {
    await startNode('measuring', {
      reports: { redis: { round_trip_ms: 0.42, clock_ahead_ms: -7 } },
    });
    await startNode('unanswered');
    const workersOf = async (name: string): Promise<unknown> =>
      (await admin('GET', `/proxy-nodes/${(await isRegistered(name)).id}`)).body.workers;
    expect(await workersOf('measuring')).toMatchObject([
      { redis_round_trip_ms: 0.42, clock_ahead_ms: -7 },
    ]);
    expect(await workersOf('unanswered')).toMatchObject([
      { redis_round_trip_ms: null, clock_ahead_ms: null },
    ]);
    await removed(await isRegistered('measuring'), await isRegistered('unanswered'));
  });

  test('a deleted node stays away, until an administrator adds it again', async () => {
    await startNode('gone');
    await removed(await isRegistered('gone'));
    await eventually(async () =>
      expect(await fleet.getDesired('gone')).toMatchObject({ state: 'unknown' }),
    );
    await plane.dataSource.query('SELECT pg_sleep(1.5)');
    expect(await nodeNamed('gone')).toBeUndefined();
    const { credential } = (await admin('POST', '/proxy-nodes', { name: 'gone' })).body;
    await startNode('gone', { credential, worker: 1 });
    await eventually(async () =>
      expect(await fleet.getDesired('gone')).toMatchObject({ state: 'serve' }),
    );
    await removed(await isRegistered('gone'));
  });

  test('a self-registered node that stayed away for a day is forgotten, and may come back', async () => {
    const node = await startNode('visitor');
    const { id } = await isRegistered('visitor');
    node.stop();
    await fleet.removeReports('visitor');
    await plane.dataSource.query(
      `UPDATE proxy_nodes SET last_seen_at = now() - interval '25 hours' WHERE id = $1`,
      [id],
    );
    const { NodeRepository } = await import('./node-repository.sql.ts');
    expect(await plane.app.get(NodeRepository).removeForgotten(plane.dataSource.manager)).toEqual([
      { id, name: 'visitor' },
    ]);
    await startNode('visitor');
    const again = await isRegistered('visitor');
    expect(again.id).not.toBe(id);
    await removed(again);
  });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { shardOf } from '@tollgate/keyspace';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { subscribedAccount, usageEvent } from '../../testing/ledger-under-test.ts';
import { UsageIngest } from '../usage/ingest/usage-ingest.service.ts';
import { UsedShards } from '../usage/ingest/used-shards.ts';
import { EpochsService } from './epochs.service.ts';
import { ShardCount } from './shard-count.sql.ts';
import { ShardEpochs } from './shard-epochs.sql.ts';

const MAIN = path.join(import.meta.dirname, '../../../dist/main.js');

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({ SHARDS: '4' });
  await plane.app.get(EpochsService, { strict: false }).ensureAll();
}, 60_000);
afterAll(() => plane?.stop());

async function startsWith(SHARDS: number): Promise<void> {
  const { dataSource } = plane;
  const count = new ShardCount(dataSource, { SHARDS });
  await count.onModuleInit();
  const epochs = new ShardEpochs(dataSource, { SHARDS });
  await new UsedShards(dataSource, epochs, count, { SHARDS }).onModuleInit();
}
const said = (shards: number, known: number) =>
  `SHARDS: is ${shards}, but this installation has ${known} shards; the number is fixed for its life. Set SHARDS=${known} and start again.`;
/** As an earlier release left the installation. */
const forget = () => plane.administrator.query('DELETE FROM shard_counts');
const stored = () => plane.administrator.query('SELECT shards FROM shard_counts');

describe('a control plane', () => {
  test('with a lower SHARDS than the installation ends with status 1 and says why', async () => {
    const env = { PATH: process.env.PATH, ...plane.environment, SHARDS: '2' };
    const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    const [errors, [status]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect(errors).toContain(`The control plane cannot start:\n${said(2, 4)}`);
    expect(status).toBe(1);
    expect(await plane.administrator.query('SELECT shard FROM shard_epochs')).toHaveLength(4);
  }, 30_000);

  test('with a higher one does not start either, before any usage', async () => {
    expect(await stored()).toEqual([{ shards: 4 }]);
    await expect(startsWith(8)).rejects.toThrow(said(8, 4));
    expect(await stored()).toEqual([{ shards: 4 }]);
  });

  test('of two that start first at once, with different ones, one does not start', async () => {
    await forget();
    await plane.administrator.query('CREATE TABLE epochs_kept AS SELECT * FROM shard_epochs');
    await plane.administrator.query('DELETE FROM shard_epochs');
    const outcomes = await Promise.allSettled([startsWith(2), startsWith(4), startsWith(8)]);
    await plane.administrator.query('INSERT INTO shard_epochs SELECT * FROM epochs_kept');
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await stored()).toHaveLength(1);
  });

  test('with a higher one, after an earlier release, does not start once usage came from shards of other accounts', async () => {
    await forget();
    await startsWith(8);
    expect(await stored()).toEqual([{ shards: 8 }]);
    await forget();
    // Of five accounts in a row, one at least is elsewhere among eight shards.
    for (let count = 0; count < 5; count += 1) {
      const parts = await subscribedAccount(plane, 1_000);
      const shard = shardOf(parts.account.id, 4);
      await plane.app.get(UsageIngest).ingest([{ ...usageEvent(7, parts), shard }]);
    }
    await expect(startsWith(8)).rejects.toThrow(said(8, 4));
    expect(await stored()).toEqual([]);
  });

  test('with its own starts, also after a first start that was interrupted', async () => {
    await startsWith(4);
    expect(await stored()).toEqual([{ shards: 4 }]);
    await plane.administrator.query("DELETE FROM shard_epochs WHERE shard <> 's00'");
    await startsWith(4);
  });
});

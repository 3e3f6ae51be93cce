import {
  appendFileSync,
  chownSync,
  lstatSync,
  mkdirSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { closeClient, describeFindings, isSound, readUsage } from '@tollgate/audit';
import {
  backUp,
  firstPostgres,
  runOps,
  startTollgate,
  type Tollgate,
  letPass,
  until,
} from '@tollgate/harness';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { closeBooks } from './close-books.ts';
import { Scene } from './scene.ts';
import { ConstantLoad } from './scenarios/constant-load.ts';
import { readNumber, withDatabase } from './scenarios/read-state.ts';

const RECOVERED_WITHIN_MS = 60_000;
let tollgate: Tollgate;
let archive: string;
let dataFolder: string;
beforeAll(async () => {
  tollgate = await startTollgate({ nodes: 1 });
  ({ dataFolder } = firstPostgres(tollgate.services));
  archive = path.join(tollgate.services.folder, 'wal');
  mkdirSync(archive);
  own(archive);
}, 60_000);
afterAll(async () => {
  closeClient();
  await tollgate?.stop();
}, 60_000);

/** PostgreSQL may run as a user of its own. */
function own(file: string): void {
  const { uid, gid } = lstatSync(dataFolder);
  chownSync(file, uid, gid);
}
const ask = (text: string) =>
  withDatabase(tollgate.databaseUrl, async (database) => (await database.query(text)).rows);
async function archiveLog(): Promise<void> {
  await ask('ALTER SYSTEM SET archive_mode = on');
  await ask(`ALTER SYSTEM SET archive_command = 'test ! -f ${archive}/%f && cp %p ${archive}/%f'`);
  await tollgate.restart('postgres');
}
/** Everything up to now is in the archive when it returns. */
async function finishArchive(): Promise<void> {
  const [{ name }] = await ask('SELECT pg_walfile_name(pg_switch_wal()) AS name');
  await until(
    `${name} is archived`,
    async () => {
      const [{ last }] = await ask('SELECT last_archived_wal AS last FROM pg_stat_archiver');
      return last >= name;
    },
    RECOVERED_WITHIN_MS,
  );
}
async function recover(base: string, at: string): Promise<void> {
  renameSync(dataFolder, `${dataFolder}-lost`);
  renameSync(base, dataFolder);
  appendFileSync(
    path.join(dataFolder, 'postgresql.auto.conf'),
    `restore_command = 'cp ${archive}/%f %p'\nrecovery_target_time = '${at}'\nrecovery_target_action = 'promote'\n`,
  );
  writeFileSync(path.join(dataFolder, 'recovery.signal'), '');
  own(path.join(dataFolder, 'recovery.signal'));
  await tollgate.restart('postgres');
  await until(
    'PostgreSQL has recovered',
    async () => {
      const [{ recovering }] = await ask('SELECT pg_is_in_recovery() AS recovering');
      return recovering === false;
    },
    RECOVERED_WITHIN_MS,
  );
}

test('a database comes back as of a moment between two copies, the wrong deletion after it is undone, and the loss is read', async () => {
  await archiveLog();
  const load = new ConstantLoad(await Scene.set(tollgate), { seed: 5, clients: 4, pauseMs: 50 });
  await load.untilCompleted(50);
  const base = path.join(tollgate.services.folder, 'base');
  await backUp(firstPostgres(tollgate.services), base);
  await load.untilCompleted(50);
  await letPass(1_000, 'a moment between the last request and the wrong deletion');
  const count = (): Promise<number> =>
    readNumber(tollgate.databaseUrl, 'SELECT count(*) AS value FROM usage_events');
  // It is counted before the moment is read: what is booked in between may or may not come back.
  const beforeMistake = await count();
  const [{ at }] = await ask('SELECT now()::text AS at');
  await load.untilCompleted(50);
  const records = await load.stop();
  await tollgate.kill('control-plane', 'SIGTERM');
  const lost = await readUsage(tollgate.databaseUrl);
  await ask('DELETE FROM usage_events');
  await finishArchive();
  await tollgate.kill('postgres', 'SIGKILL');
  await recover(base, at);
  const recovered = await count();
  expect(recovered).toBeGreaterThanOrEqual(beforeMistake);
  expect(recovered).toBeLessThan(lost.size);
  await ask(`INSERT INTO restores (backup_id, taken_at) VALUES (gen_random_uuid(), '${at}')`);
  await tollgate.restart('control-plane');
  const { status, out, err } = await runOps(
    { DATABASE_URL: tollgate.databaseUrl, REDIS_URL: tollgate.redisUrl },
    'loss',
  );
  expect([status, status === 0 ? '' : err]).toEqual([0, '']);
  const reported = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { book_tokens: number; redis_tokens: number })
    .reduce((sum, loss) => sum + loss.book_tokens - loss.redis_tokens, 0);
  const kept = await readUsage(tollgate.databaseUrl);
  const missing = [...lost].filter(([rid]) => !kept.has(rid));
  expect(reported).toBe(missing.reduce((sum, [, { delta }]) => sum + delta, 0));
  const { findings } = await closeBooks(tollgate, records, { reportedLost: new Map(missing) });
  if (!isSound(findings)) throw new Error(describeFindings(findings));
}, 300_000);

import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { opsEnvironment, until } from '@tollgate/harness';
import { ledgerOf } from '../testing/ledger-under-test.ts';
import { startControlPlane, type ControlPlane } from '../testing/control-plane-under-test.ts';

/** Every block of docs/operations.md is pasted into a shell and run here, or says where it is run, or why it cannot be. */
const root = path.join(import.meta.dirname, '../../../..');
const blocks = [
  ...readFileSync(path.join(root, 'docs/operations.md'), 'utf8').matchAll(
    /^ *```(\w+)\n([^]*?)^ *```$/gm,
  ),
].map(([, language = '', text = '']) => ({ language, text: text.replaceAll(/^ {3}/gm, '') }));

/** Gives the reason by the beginning of a block. A path names the suite that does the same. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'docker build':
    'needs containers; what they run: tests/fleet/src/helm-page.long.spec.ts, tools/check/deploy.spec.ts',
  'export DATABASE_ADMIN_URL=': 'tests/fleet/src/helm-page.long.spec.ts',
  'helm install': 'tests/fleet/src/helm-page.long.spec.ts',
  'npm install --global': 'installs for the whole machine; tools/check/deploy.spec.ts',
  '[pgbouncer]': 'tests/e2e/src/pgbouncer.long.spec.ts',
  'ALTER ROLE tollgate_runtime': 'tests/e2e/src/pgbouncer.long.spec.ts',
  'docker compose exec': 'needs containers; the command in them is run here',
  'NODE_EXTRA_CA_CERTS=': 'tests/fleet/src/tls.long.spec.ts',
  'ALTER SYSTEM SET archive_mode': 'tests/chaos/src/point-in-time.long.spec.ts',
  'SELECT pg_backup_start': 'tests/chaos/src/point-in-time.long.spec.ts',
  'restore_command =': 'tests/chaos/src/point-in-time.long.spec.ts',
  'INSERT INTO restores': 'tests/chaos/src/point-in-time.long.spec.ts',
  'export AWS_ACCESS_KEY_ID=':
    'apps/control-plane/src/features/usage/archive/s3-store.long.spec.ts',
  'npm run check:deploy': 'a command of its own, part of npm run check',
};

let plane: ControlPlane;
/** Stands for /srv. */
let folder: string;
let restored: string;
let erasedId: number;
beforeAll(async () => {
  plane = await startControlPlane();
  const ledger = ledgerOf(plane);
  await ledger.initialiseShards();
  // The first administrator's record is written, which Redis could not take before: a backup with a promised write waits for its control plane.
  await until('no promised write', async () => {
    const [row] = await ledger.query('SELECT count(*) FROM live_state_outbox');
    return Number(row?.count) === 0;
  });
  const { id } = await plane.createUser('leaver');
  await plane.call('DELETE', `/users/${id}`, { token: plane.adminToken });
  erasedId = id;
  await ledger.query(
    `INSERT INTO usage_events (day, rid, seq, kind, user_id, subscription_id, model_id, delta, node, started_at)
     SELECT (now() - interval '9 days')::date, gen_random_uuid(), 0, 'usage', 1, 1, 1, 5, 'n', now() - interval '9 days'`,
  );
  restored = await plane.services.createDatabase();
  folder = mkdtempSync(path.join(tmpdir(), 'tollgate-srv-'));
  // The path leads to the command as packages and images have it, before anything else of that name.
  const command = path.join(root, 'deploy/tollgate-ops');
  symlinkSync(command, path.join(folder, 'tollgate-ops'));
  symlinkSync(process.execPath, path.join(folder, 'node'));
}, 180_000);
afterAll(async () => {
  await plane?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const beginningWith = (start: string): string => {
  const found = blocks.filter(({ text }) => text.startsWith(start));
  expect(found).toHaveLength(1);
  return found[0]?.text ?? '';
};

/** Runs the lines; throws with what the shell said unless every line succeeds. */
async function paste(text: string, more: { env?: object; cwd?: string } = {}): Promise<string> {
  const env = { ...plane.environment, ...more.env, PATH: `${folder}:${process.env.PATH}` };
  const [failure, out] = await new Promise<[string, string]>((resolve) => {
    execFile(
      'sh',
      ['-e', '-c', text.replaceAll('/srv/', `${folder}/`)],
      { env, cwd: more.cwd ?? folder },
      (error, said, complaint) => resolve([error ? `${said}${complaint}` : '', said]),
    );
  });
  expect(failure).toBe('');
  return out;
}

const RUN = [
  'tollgate-ops backup',
  'tollgate-ops restore',
  'tollgate-ops loss',
  'tollgate-ops erase',
  'tollgate-ops export',
  'node -e',
];

test('every block is run here, is run by the suite that is named, or has its reason', () => {
  const known = [...RUN, ...Object.keys(ELSEWHERE)];
  expect(blocks.length).toBeGreaterThan(15);
  expect(
    blocks.map(({ text }) => text).filter((text) => !known.some((start) => text.startsWith(start))),
  ).toEqual([]);
  expect(known.filter((start) => !blocks.some(({ text }) => text.startsWith(start)))).toEqual([]);
  const named = Object.values(ELSEWHERE).flatMap((reason) => reason.match(/\w+\/[\w./-]+/g) ?? []);
  expect(named.filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
});

test('a backup is made and verified, loaded into another database, and its loss is reported', async () => {
  await paste(beginningWith('tollgate-ops backup'));
  const [backup = ''] = readdirSync(path.join(folder, 'tollgate-backups'));
  const env = opsEnvironment(plane.services.urlsOf(restored));
  const text = beginningWith('tollgate-ops restore').replaceAll(/\d{4}-\d\d-\d\dT[\w-]+Z/g, backup);
  expect(await paste(text, { env })).toContain('It would load');
  await paste(beginningWith('tollgate-ops loss'), { env });
  expect(existsSync(path.join(folder, 'loss.jsonl'))).toBe(true);
}, 120_000);

test('a person is erased, and the books are verified', async () => {
  const text = beginningWith('tollgate-ops erase').replaceAll('erase 17', `erase ${erasedId}`);
  expect(await paste(text)).toContain('users 1 row');
}, 60_000);

test('finished days are exported, and their copies are checked by the manifest', async () => {
  expect(await paste(beginningWith('tollgate-ops export'))).toContain('written');
  const cwd = path.join(folder, 'tollgate-archive');
  expect(await paste(beginningWith('node -e'), { cwd })).toMatch(/usage-.*\.csv\.gz: OK/);
}, 60_000);

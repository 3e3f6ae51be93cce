import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startServices, type Services, until } from '@tollgate/harness';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RecorderTask, KillPoint } from '../../test/usage/recorder-process.ts';
import { Downstream } from '../../test/usage/downstream.ts';
import {
  addAccount,
  MODEL_ID,
  openMeteredRedis,
  type MeteredRedis,
} from '../../test/usage/metered-redis.ts';

const TOKENS = 1_000_000;
/** Each point is met at its first and its third occurrence by turns. */
const KILLS = Number(process.env.KILLS ?? 2);
const KILL_TIMEOUT_MS = 45_000;
const PROCESS = join(import.meta.dirname, '../../test/usage/recorder-process.ts');
let services: Services;
let world: MeteredRedis;
let accountId = 200;

beforeAll(async () => {
  services = await startServices({ postgres: false });
  world = await openMeteredRedis(services.redisUrl);
}, 60_000);
afterAll(async () => {
  world.close();
  await services.stop();
});

/** Returns the signal that ended it, or its exit code. */
function run(task: RecorderTask): Promise<string | number | null> {
  const child = spawn(process.execPath, ['--no-warnings', PROCESS], {
    env: { ...process.env, TASK: JSON.stringify(task) },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)));
}

async function killedAt(killAt: KillPoint, nth: number): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-kill-'));
  const truthFile = join(dataDir, 'truth');
  writeFileSync(truthFile, '');
  accountId += 1;
  await addAccount(world, accountId, TOKENS);
  const downstream = new Downstream(world);
  try {
    const task: RecorderTask = {
      redisUrl: services.redisUrl,
      dataDir,
      accountId,
      // So many requests let three batches of events leave while they are served.
      requests: 24,
      killAt,
      nth,
      truthFile,
    };
    expect(await run(task)).toBe('SIGKILL');
    expect(await run({ ...task, requests: 3, killAt: 'never' })).toBe(0);

    const truth = new Map(
      readFileSync(truthFile, 'utf8')
        .trim()
        .split('\n')
        .map((line): [string, number] => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]),
    );
    await until('every request is booked', () =>
      [...truth].every(([rid]) => downstream.events.has(`${rid}:0`)),
    );
    for (const [rid, charge] of truth)
      expect([rid, downstream.chargeOf(rid)]).toEqual([rid, charge]);
    // The one request that had no final yet was running when the node died: it is booked too, with what was counted: nothing.
    expect(downstream.total).toBe([...truth.values()].reduce((sum, charge) => sum + charge, 0));
    const [balance] = await world.live.getBalances([{ accountId, modelId: MODEL_ID }]);
    expect(balance).toMatchObject({ balance: TOKENS - downstream.total, held: 0, running: 0 });
  } finally {
    await downstream.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

describe('a node killed with -9 loses no request and charges none twice', () => {
  test.each<[KillPoint, string]>([
    ['before_final', 'while a request is running'],
    ['after_final_journalled', 'between the journal and Redis'],
    ['after_settle', 'after Redis, before it knows'],
    ['after_queue_add', 'after the queue, before it knows'],
    ['before_outbox_delete', 'before the outbox forgets'],
    ['before_acknowledged_journalled', 'before the journal knows of the acknowledgement'],
  ])(
    '%s: %s',
    async (killAt) => {
      for (let kill = 0; kill < KILLS; kill += 1) await killedAt(killAt, kill % 2 === 0 ? 1 : 3);
    },
    KILLS * KILL_TIMEOUT_MS,
  );
});

import { renameSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  auditBooks,
  randomFrom,
  readUsage,
  type ClientRecord,
  type Finding,
} from '@tollgate/audit';
import {
  backUp,
  createRoutedModel,
  firstPostgres,
  startPostgres,
  startTollgate,
  type PostgresServer,
  type Tollgate,
} from '@tollgate/harness';
import { shardNames } from '@tollgate/keyspace';
import { z } from 'zod';
import { Scene } from '../scene.ts';
import { waitForJournals } from '../wait-for-journals.ts';
import { closeBooks } from '../close-books.ts';
import { ConstantLoad, describeEndings } from './constant-load.ts';
import { getOnce } from './get-once.ts';
import { withDatabase, withRedis } from './read-state.ts';
import { inSeconds, promised, type Order, type Outcome } from './scenario.ts';

const SECONDS = 60;
const CALM_MS = 8_000;
const AWAY_MS = 5_000;
const RENEWAL_GAP_MS = 1_500;
const QUEUE_EMPTY_WITHIN_MS = 60_000;
const BACK_WITHIN_MS = 60_000;
const WAS_LOST = /^subscription (\d+): PostgreSQL (-?\d+) at credit \d+; Redis (-?\d+) at credit/;
const sumRow = z.object({ subscription_id: z.number(), key: z.string(), delta: z.coerce.number() });

/** Tokens by subscription: what left balances (usage) less what came (purchases) and is in the books no more. */
type Losses = Map<number, number>;

/** T20: PostgreSQL is gone and comes back from a backup some minutes old. Follows "PostgreSQL was restored from an old backup" of docs/reliability.md step by step. */
export async function restore({ seconds = SECONDS, seed, log }: Order): Promise<Outcome> {
  const tollgate = await startTollgate({ nodes: 2, controlPlanes: 2 });
  let witness: PostgresServer | undefined;
  try {
    const scene = await Scene.set(tollgate);
    const postgres = firstPostgres(tollgate.services);
    const backup = path.join(tollgate.services.folder, 'backup');
    const before = await liveFor({ tollgate, scene, seed, seconds, backup, log });
    log('step 1: traffic and control planes are stopped');
    const records = await before.stop();
    for (const name of planesOf(tollgate)) await tollgate.kill(name, 'SIGTERM');
    log('step 2: PostgreSQL starts from the backup, then the control planes');
    renameSync(postgres.dataFolder, path.join(tollgate.services.folder, 'postgres-lost'));
    renameSync(backup, postgres.dataFolder);
    for (const name of ['postgres', ...planesOf(tollgate)]) await tollgate.restart(name);
    log('step 3: what still waited is booked, then the audit says what is lost');
    const reported = await readReport(tollgate);
    witness = await startPostgres(tollgate.services, 'postgres-lost');
    const truth = await compareDatabases(witness, postgres);
    log('step 4: Redis is emptied and filled again from the books');
    const backAfterMs = await refill(tollgate);
    log('step 5: traffic returns');
    const after = new ConstantLoad(scene, { seed: seed + 1 });
    await after.untilCompleted(200);
    return await judge({
      tollgate,
      witness,
      records: [...records, ...(await after.stop())],
      reported,
      truth,
      backAfterMs,
    });
  } finally {
    await witness?.process.stop();
    await tollgate.stop();
  }
}

interface Life {
  tollgate: Tollgate;
  scene: Scene;
  seed: number;
  seconds: number;
  backup: string;
  log: (line: string) => void;
}

/** Traffic, purchases and changes go on after the backup, and traffic for a while after PostgreSQL is gone. */
async function liveFor({
  tollgate,
  scene,
  seed,
  seconds,
  backup,
  log,
}: Life): Promise<ConstantLoad> {
  const load = new ConstantLoad(scene, { seed, clients: 6, pauseMs: 50 });
  await delay(CALM_MS);
  await backUp(firstPostgres(tollgate.services), backup);
  log(`backup taken after ${describeEndings(load.records)}`);
  const random = randomFrom(seed ^ 0x2e57);
  for (const until = Date.now() + seconds * 1_000; Date.now() < until; await delay(RENEWAL_GAP_MS))
    await scene.renewOne(random);
  await createRoutedModel(tollgate);
  await tollgate.admin.syncAll();
  await tollgate.kill('postgres', 'SIGKILL');
  log(`PostgreSQL is gone after ${describeEndings(load.records)}`);
  await delay(AWAY_MS);
  return load;
}

function planesOf({ processNames }: Tollgate): string[] {
  return processNames.filter((name) => name.startsWith('control-plane'));
}

/** As an operator reads it from `npm run audit`: one line for each subscription whose balances differ. */
async function readReport(tollgate: Tollgate): Promise<Losses> {
  const deadline = Date.now() + QUEUE_EMPTY_WITHIN_MS;
  await waitForJournals(tollgate, deadline);
  for (;;) {
    const findings = await auditBooks(tollgate, { drainMs: 0 });
    const problemsOf = (name: string): string[] =>
      findings.find((finding) => finding.name === name)?.problems ?? [];
    if (problemsOf('on the way').length === 0)
      return new Map(problemsOf('live balances').map(readLoss));
    if (Date.now() > deadline)
      throw new Error(`usage still waits: ${problemsOf('on the way').join(', ')}`);
    await delay(500);
  }
}

function readLoss(line: string): [number, number] {
  const [, subscription, books, live] = WAS_LOST.exec(line) ?? [];
  if (subscription === undefined) throw new Error(`the audit says something else: ${line}`);
  return [Number(subscription), Number(books) - Number(live)];
}

/** The truth, which an operator does not have: the database that was lost. */
async function compareDatabases(lost: PostgresServer, restored: PostgresServer): Promise<Losses> {
  const losses: Losses = new Map();
  const tables = [
    { text: `SELECT subscription_id, rid || ':' || seq AS key, delta FROM usage_events`, sign: 1 },
    {
      text: `SELECT subscription_id, subscription_id || ':' || seq AS key, delta FROM token_credits`,
      sign: -1,
    },
  ];
  for (const { text, sign } of tables) {
    const read = (databaseUrl: string) =>
      withDatabase(databaseUrl, async (database) =>
        z.array(sumRow).parse((await database.query(text)).rows),
      );
    const known = new Set((await read(restored.databaseUrl)).map(({ key }) => key));
    for (const { subscription_id, key, delta } of await read(lost.databaseUrl)) {
      if (!known.has(key))
        losses.set(subscription_id, (losses.get(subscription_id) ?? 0) + sign * delta);
    }
  }
  return new Map([...losses].filter(([, tokens]) => tokens !== 0));
}

/** Milliseconds until every shard has been filled again and every node says that it serves. */
async function refill({ redisUrl, shards, nodeUrls }: Tollgate): Promise<number> {
  const startedAt = Date.now();
  await withRedis(redisUrl, async (redis) => {
    await redis.flushall();
    const isFilled = async (shard: string): Promise<boolean> =>
      /^(?!rebuilding:)./.test((await redis.get(`{${shard}}:epoch`)) ?? '');
    const isReady = async (url: string): Promise<boolean> =>
      (await getOnce(`${url}/readyz`)).status === 200;
    const checks = (): Promise<boolean[]> =>
      Promise.all([...shardNames(shards).map(isFilled), ...nodeUrls.map(isReady)]);
    for (; !(await checks()).every(Boolean); await delay(50)) {
      if (Date.now() > startedAt + BACK_WITHIN_MS) throw new Error('the service did not come back');
    }
  });
  return Date.now() - startedAt;
}

interface Evidence {
  tollgate: Tollgate;
  witness: PostgresServer;
  records: readonly ClientRecord[];
  reported: Losses;
  truth: Losses;
  backAfterMs: number;
}

async function judge({
  tollgate,
  witness,
  records,
  reported,
  truth,
  backAfterMs,
}: Evidence): Promise<Outcome> {
  const usage = await readUsage(tollgate.databaseUrl);
  const reportedLost = new Map(
    [...(await readUsage(witness.databaseUrl))].filter(([rid]) => !usage.has(rid)),
  );
  const { findings, drainedInMs } = await closeBooks(tollgate, records, { reportedLost });
  const tokens = (losses: Losses): number =>
    [...losses.values()].reduce((sum, value) => sum + value, 0);
  return {
    figures: [
      ['requests', describeEndings(records)],
      [
        'lost to the books',
        `${reportedLost.size.toLocaleString('en')} requests; net ${tokens(truth).toLocaleString('en')} tokens of ${truth.size} subscriptions`,
      ],
      [
        'reported',
        `net ${tokens(reported).toLocaleString('en')} tokens of ${reported.size} subscriptions`,
      ],
      ['all shards again', `${inSeconds(backAfterMs)} after Redis was emptied`],
      ['drained', inSeconds(drainedInMs)],
    ],
    findings: [exactness(reported, truth), await sameVersion(tollgate), ...findings],
  };
}

function exactness(reported: Losses, truth: Losses): Finding {
  const subscriptions = [...new Set([...reported.keys(), ...truth.keys()])];
  return promised(
    'reported loss',
    'what the audit says is missing == what the lost database had, by subscription',
    {
      compared: subscriptions.length,
      problems: subscriptions
        .filter((id) => (reported.get(id) ?? 0) !== (truth.get(id) ?? 0))
        .map(
          (id) =>
            `subscription ${id}: reported ${reported.get(id) ?? 0}, lost ${truth.get(id) ?? 0}`,
        ),
    },
  );
}

/** Versions begin again below what nodes ran: they must follow the books, not the higher number. */
async function sameVersion(tollgate: Tollgate): Promise<Finding> {
  await createRoutedModel(tollgate);
  const { nodes } = await tollgate.admin.syncAll();
  return promised('configuration', 'every node applies what the restored books publish', {
    compared: nodes.length,
    problems: nodes
      .filter(({ outcome }) => outcome !== 'applied')
      .map(({ name, outcome }) => `${name}: ${outcome}`),
  });
}

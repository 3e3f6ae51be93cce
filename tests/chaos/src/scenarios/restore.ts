import { renameSync } from 'node:fs';
import path from 'node:path';
import {
  randomFrom,
  readUsage,
  sendRequest,
  type ClientRecord,
  type Finding,
  SHORT_CHAT,
} from '@tollgate/audit';
import {
  createRoutedModel,
  firstPostgres,
  runOps,
  startPostgres,
  startTollgate,
  type PostgresServer,
  type Tollgate,
  until,
  letPass,
} from '@tollgate/harness';
import { z } from 'zod';
import { Scene } from '../scene.ts';
import { closeBooks } from '../close-books.ts';
import { ConstantLoad, describeEndings } from './constant-load.ts';
import { getOnce } from './get-once.ts';
import { withDatabase } from './read-state.ts';
import { inSeconds, promised, type Order, type Outcome } from './scenario.ts';
import { createTarget } from '../create-target.ts';

const SECONDS = 60;
/** Is the number of requests that complete before the backup is taken. */
const CALM_REQUESTS = 300;
const AWAY_MS = 5_000;
const RENEWAL_GAP_MS = 1_500;
const LATE_REQUESTS = 3;
const BOOKED_WITHIN_MS = 20_000;
const READY_WITHIN_MS = 30_000;
const sumRow = z.object({ subscription: z.string(), key: z.string(), delta: z.coerce.number() });
const lossLine = z.object({
  user_id: z.number(),
  model_id: z.number(),
  book_tokens: z.number().nullable(),
  redis_tokens: z.number().nullable(),
});

/** Maps subscriptions (`account:model`) to tokens: what left balances (usage) less what came (purchases) and is in the books no more. */
type Losses = Map<string, number>;

/** Plays T20: PostgreSQL is gone and comes back from a backup some minutes old, with `tollgate-ops`. It follows "Restore" of docs/operations.md step by step. */
export async function restore({ seconds = SECONDS, seed, log }: Order): Promise<Outcome> {
  const tollgate = await startTollgate({ nodes: 2, controlPlanes: 2 });
  let witness: PostgresServer | undefined;
  try {
    const scene = await Scene.set(tollgate);
    const postgres = firstPostgres(tollgate.services);
    const { load, late, backup } = await liveFor({ tollgate, scene, seed, seconds, log });
    log('step 1: traffic and control planes are stopped');
    const records = [...(await load.stop()), ...late];
    for (const name of planesOf(tollgate)) await tollgate.kill(name, 'SIGTERM');
    log('step 2: the backup is loaded into a new PostgreSQL, then the control planes start');
    renameSync(postgres.dataFolder, path.join(tollgate.services.folder, 'postgres-lost'));
    await tollgate.restart('postgres');
    await ops(tollgate, 'restore', backup);
    for (const name of planesOf(tollgate)) await tollgate.restart(name);
    log('step 3: what still waited is booked; the loss is read, and Redis is filled again');
    const reported = await readReport(tollgate);
    witness = await startPostgres(tollgate.services, 'postgres-lost');
    const truth = await compareDatabases(witness, postgres);
    const backAfterMs = await untilReady(tollgate);
    log('step 4: traffic returns');
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
  log: (line: string) => void;
}

interface Lived {
  load: ConstantLoad;
  /** Holds requests of a customer who came after the backup. */
  late: ClientRecord[];
  backup: string;
}

/** Traffic, purchases and changes go on after the backup, and traffic for a while after PostgreSQL is gone. */
async function liveFor({ tollgate, scene, seed, seconds, log }: Life): Promise<Lived> {
  const load = new ConstantLoad(scene, { seed, clients: 6, pauseMs: 50 });
  await load.untilCompleted(CALM_REQUESTS);
  const backup = await ops(tollgate, 'backup', path.join(tollgate.services.folder, 'backups'));
  log(`backup taken after ${describeEndings(load.records)}`);
  const random = randomFrom(seed ^ 0x2e57);
  for (const until = Date.now() + seconds * 1_000; Date.now() < until;) {
    await scene.renewOne(random);
    await letPass(RENEWAL_GAP_MS, 'purchases are spread over the traffic');
  }
  const late = await serveLateCustomer(tollgate);
  await tollgate.kill('postgres', 'SIGKILL');
  log(`PostgreSQL is gone after ${describeEndings(load.records)}`);
  await letPass(AWAY_MS, 'nodes serve while PostgreSQL is away');
  return { load, late, backup };
}

/** Makes an account, a model and a subscription that no backup knows, with usage that is booked. */
async function serveLateCustomer(tollgate: Tollgate): Promise<ClientRecord[]> {
  const target = await createTarget(tollgate);
  const records: ClientRecord[] = [];
  for (let count = 0; count < LATE_REQUESTS; count += 1)
    records.push(await sendRequest(SHORT_CHAT, target));
  await until(
    'the requests of the late customer are booked',
    async () => {
      const booked = await readUsage(tollgate.databaseUrl);
      return records.every(({ rid }) => booked.has(rid ?? ''));
    },
    BOOKED_WITHIN_MS,
  );
  return records;
}

/** Returns what the command printed. */
async function ops({ databaseUrl, redisUrl }: Tollgate, ...args: string[]): Promise<string> {
  const { status, out, err } = await runOps(
    { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl },
    ...args,
  );
  if (status !== 0) throw new Error(`tollgate-ops ${args.join(' ')}: ${err}`);
  return out.trim();
}

function planesOf({ processNames }: Tollgate): string[] {
  return processNames.filter((name) => name.startsWith('control-plane'));
}

async function readReport(tollgate: Tollgate): Promise<Losses> {
  const lines = (await ops(tollgate, 'loss')).split('\n').filter((line) => line !== '');
  return new Map(
    lines
      .map((line) => lossLine.parse(JSON.parse(line)))
      .map((loss) => [
        `${loss.user_id}:${loss.model_id}`,
        (loss.book_tokens ?? 0) - (loss.redis_tokens ?? 0),
      ]),
  );
}

/** Returns the truth, which an operator does not have: the database that was lost. */
async function compareDatabases(lost: PostgresServer, restored: PostgresServer): Promise<Losses> {
  const losses: Losses = new Map();
  const tables = [
    {
      text: `SELECT user_id || ':' || model_id AS subscription, rid || ':' || seq AS key, delta FROM usage_events`,
      sign: 1,
    },
    {
      text: `SELECT user_id || ':' || model_id AS subscription, subscription_id || ':' || seq AS key, delta FROM token_credits JOIN subscriptions s ON s.id = subscription_id`,
      sign: -1,
    },
  ];
  for (const { text, sign } of tables) {
    const read = (databaseUrl: string) =>
      withDatabase(databaseUrl, async (database) =>
        z.array(sumRow).parse((await database.query(text)).rows),
      );
    const known = new Set((await read(restored.databaseUrl)).map(({ key }) => key));
    for (const { subscription, key, delta } of await read(lost.databaseUrl)) {
      if (!known.has(key)) losses.set(subscription, (losses.get(subscription) ?? 0) + sign * delta);
    }
  }
  return new Map([...losses].filter(([, tokens]) => tokens !== 0));
}

/** Returns the milliseconds until every node says that it serves. */
async function untilReady({ nodeUrls }: Tollgate): Promise<number> {
  const startedAt = Date.now();
  const isReady = async (url: string): Promise<boolean> =>
    (await getOnce(`${url}/readyz`)).status === 200;
  await until(
    'every node is ready',
    async () => (await Promise.all(nodeUrls.map(isReady))).every(Boolean),
    READY_WITHIN_MS,
  );
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
      ['all nodes ready', `${inSeconds(backAfterMs)} after Redis was filled again`],
      ['drained', inSeconds(drainedInMs)],
    ],
    findings: [exactness(reported, truth), await sameVersion(tollgate), ...findings],
  };
}

function exactness(reported: Losses, truth: Losses): Finding {
  const subscriptions = [...new Set([...reported.keys(), ...truth.keys()])];
  return promised(
    'reported loss',
    'what `loss` says is missing == what the lost database had, by subscription',
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

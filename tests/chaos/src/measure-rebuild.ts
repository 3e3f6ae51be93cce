import {
  closeClient,
  countVerdicts,
  describeFindings,
  isSound,
  sendRequest,
  type ClientRecord,
  type Finding,
  type Target,
  SHORT_CHAT,
} from '@tollgate/audit';
import { startTollgate, type Tollgate, letPass, answerWithin } from '@tollgate/harness';
import { primariesOf, shardNames } from '@tollgate/keyspace';
import { closeBooks } from './close-books.ts';
import { withDatabase, withRedis } from './scenarios/read-state.ts';
import { inSeconds, promised } from './scenarios/scenario.ts';
import { createTarget } from './create-target.ts';

const CLIENTS = 8;
const SHARDS = 16;
const CALM_MS = 3_000;
/** Is the limit of T7. */
const REFUSED_WITHIN_MS = 1_000;
const BACK_WITHIN_MS_PER_100_000 = 30_000;
/** It is waited for longer than it may take, so that a slow one shows in its figures. */
const WAITED_FOR_MS = 300_000;

/** Adds this many accounts, each with a key, a subscription and a lot, as the books would have them; Redis learns of them by its rebuild alone. */
const POPULATE = `
  WITH accounts AS (INSERT INTO users (username, password_hash, status) SELECT 'rebuild-' || i, '-', 'active' FROM generate_series(1, $1::int) i RETURNING id),
    keys AS (INSERT INTO api_keys (user_id, name, key_hash, key_prefix) SELECT id, 'k', encode(sha256(convert_to('rebuild-' || id, 'UTF8')), 'hex'), 'tg' FROM accounts),
    subs AS (INSERT INTO subscriptions (user_id, model_id, balance, credit_seq) SELECT id, $2::int, 1000, 1 FROM accounts RETURNING id),
    lots AS (INSERT INTO token_lots (subscription_id, credit_seq, tokens, remaining, cost) SELECT id, 1, 1000, 1000, 0 FROM subs),
    credits AS (INSERT INTO token_credits (subscription_id, seq, delta, kind) SELECT id, 1, 1000, 'grant' FROM subs)
  INSERT INTO token_entries (subscription_id, kind, reference, delta, balance_after) SELECT id, 'credit', 'credit:1', 1000, 1000 FROM subs`;

/** Plays T7: loses everything in Redis under load with so many subscriptions, and says how long the service was away. Returns true when it was away no longer than promised and the books close. */
export async function measureRebuild(
  subscriptions: number,
  log: (line: string) => void,
): Promise<boolean> {
  const tollgate = await startTollgate({
    nodes: 2,
    controlPlanes: 2,
    env: { SHARDS: String(SHARDS) },
  });
  try {
    const { modelId, ...target } = await createTarget(tollgate);
    await withDatabase(tollgate.databaseUrl, async (database) => {
      await database.query(POPULATE, [subscriptions, modelId]);
      await database.query('ANALYZE');
    });
    log(
      `${subscriptions.toLocaleString('en')} subscriptions, as many accounts and keys; FLUSHALL under load...`,
    );
    const away = await flushUnderLoad(tollgate, target);
    log(
      `  first refusal after        ${away.refusedAfterMs.toFixed(0)} ms (${away.refused} refusals in all)\n  this account served after  ${inSeconds(away.servedAfterMs)}\n  all shards back after      ${inSeconds(away.filledAfterMs)}`,
    );
    const { findings } = await closeBooks(tollgate, away.records);
    const all = [...promisesOf(away, subscriptions), ...findings];
    log(`\n${describeFindings(all)}\n\n${countVerdicts(all)}.`);
    return isSound(all);
  } finally {
    closeClient();
    await tollgate.stop();
  }
}

/** Holds times from the loss in ms; Infinity means never while it was waited for. */
interface Away {
  refusedAfterMs: number;
  servedAfterMs: number;
  filledAfterMs: number;
  refused: number;
  records: ClientRecord[];
}

async function flushUnderLoad(tollgate: Tollgate, target: Target): Promise<Away> {
  const answers: { atMs: number; record: ClientRecord }[] = [];
  const ending = new AbortController();
  const client = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const record = await sendRequest(SHORT_CHAT, target);
      answers.push({ atMs: performance.now(), record });
      if (record.status !== 200) await letPass(20, 'a client pauses after a failure');
    }
  };
  const clients = Array.from({ length: CLIENTS }, client);
  await letPass(CALM_MS, 'traffic runs before the loss');
  await withRedis(tollgate.redisUrl, (redis) =>
    Promise.all(primariesOf(redis).map((primary) => primary.flushall())),
  );
  const lostAtMs = performance.now();
  const filledAfterMs = await filledAfter(tollgate, lostAtMs);
  const firstWith = (status: number, sinceMs: number): number =>
    answers.find((answer) => answer.atMs > sinceMs && answer.record.status === status)?.atMs ??
    Infinity;
  const refusedAtMs = firstWith(503, lostAtMs);
  const servedAtMs = (): number => firstWith(200, refusedAtMs < Infinity ? refusedAtMs : lostAtMs);
  await answerWithin(lostAtMs + WAITED_FOR_MS - performance.now(), () => servedAtMs() < Infinity);
  ending.abort();
  await Promise.all(clients);
  const records = answers.map(({ record }) => record);
  return {
    refusedAfterMs: refusedAtMs - lostAtMs,
    servedAfterMs: servedAtMs() - lostAtMs,
    filledAfterMs,
    refused: records.filter(({ status }) => status === 503).length,
    records,
  };
}

/** Resolves when every shard has an epoch again. */
function filledAfter({ redisUrl }: Tollgate, lostAtMs: number): Promise<number> {
  const isFilled = (epoch: string | null): boolean =>
    epoch !== null && !epoch.startsWith('rebuilding:');
  return withRedis(redisUrl, async (redis) => {
    const areFilled = await answerWithin(WAITED_FOR_MS, async () =>
      (await Promise.all(shardNames(SHARDS).map((shard) => redis.get(`{${shard}}:epoch`)))).every(
        isFilled,
      ),
    );
    return areFilled ? performance.now() - lostAtMs : Infinity;
  });
}

function promisesOf(
  { refusedAfterMs, servedAfterMs, filledAfterMs, records }: Away,
  subscriptions: number,
): Finding[] {
  const backWithinMs = BACK_WITHIN_MS_PER_100_000 * Math.ceil(subscriptions / 100_000);
  const backAfterMs = Math.max(servedAfterMs, filledAfterMs);
  const judge = (
    name: string,
    promise: string,
    { afterMs, withinMs }: { afterMs: number; withinMs: number },
  ): Finding =>
    promised(name, promise, {
      compared: records.length,
      problems: afterMs > withinMs ? [`after ${inSeconds(afterMs)}`] : [],
    });
  return [
    judge('noticed', `the first 503 comes within ${inSeconds(REFUSED_WITHIN_MS)} of the loss`, {
      afterMs: refusedAfterMs,
      withinMs: REFUSED_WITHIN_MS,
    }),
    judge('back', `everything is served again within ${inSeconds(backWithinMs)}`, {
      afterMs: backAfterMs,
      withinMs: backWithinMs,
    }),
  ];
}

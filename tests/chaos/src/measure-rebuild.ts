import { setTimeout as delay } from 'node:timers/promises';
import { auditBooks, closeClient, describeFindings, isSound, sendRequest, type RequestPlan, type Target } from '@tollgate/audit';
import { createCustomer, createRoutedModel, startTollgate, subscribeWithKey, type Tollgate } from '@tollgate/harness';
import { openRedis, primariesOf, redisReady } from '@tollgate/keyspace';
import pg from 'pg';
import { waitForJournals } from './wait-for-journals.ts';

const PLAN: RequestPlan = { protocol: 'chat', isStream: false, customer: 0, model: 0, address: 0, tokens: 5, delayMs: 0, promptWords: 3, hangUpAtByte: null };
const CLIENTS = 8;
const CALM_MS = 3_000;
const BACK_WITHIN_MS = 300_000;
const DRAIN_MS = 60_000;

/** So many accounts, each with a key, a subscription and a lot, as the books would have them; Redis learns of them by its rebuild alone. */
const POPULATE = `
  WITH accounts AS (INSERT INTO users (username, password_hash, status) SELECT 'rebuild-' || i, '-', 'active' FROM generate_series(1, $1::int) i RETURNING id),
    keys AS (INSERT INTO api_keys (user_id, name, key_hash, key_prefix) SELECT id, 'k', encode(sha256(convert_to('rebuild-' || id, 'UTF8')), 'hex'), 'tg' FROM accounts),
    subs AS (INSERT INTO subscriptions (user_id, model_id, balance, credit_seq) SELECT id, $2::int, 1000, 1 FROM accounts RETURNING id),
    lots AS (INSERT INTO token_lots (subscription_id, credit_seq, tokens, remaining, cost) SELECT id, 1, 1000, 1000, 0 FROM subs),
    credits AS (INSERT INTO token_credits (subscription_id, seq, delta, kind, applied_at) SELECT id, 1, 1000, 'grant', now() FROM subs)
  INSERT INTO token_entries (subscription_id, kind, reference, delta, balance_after) SELECT id, 'credit', 'credit:1', 1000, 1000 FROM subs`;

/** Loses everything in Redis under load with so many subscriptions, and says how long the service was away. True when the books close afterwards. */
export async function measureRebuild(subscriptions: number, log: (line: string) => void): Promise<boolean> {
  const tollgate = await startTollgate({ nodes: 2, controlPlanes: 2, env: { SHARDS: '16' } });
  try {
    const model = await createRoutedModel(tollgate);
    const apiKey = await subscribeWithKey(await createCustomer(tollgate), { modelIds: [model.id] });
    await tollgate.admin.syncAll();
    await populate(tollgate, subscriptions, model.id);
    log(`${subscriptions.toLocaleString('en')} subscriptions, as many accounts and keys; FLUSHALL under load...`);
    const target = { origin: tollgate.nodeUrls[0] ?? '', apiKey, model: model.name };
    const { refusedAfterMs, backAfterMs, refused } = await flushUnderLoad(tollgate, target);
    log(`  first refusal after      ${refusedAfterMs.toFixed(0)} ms (${refused} refusals in all)\n  this account served after ${(backAfterMs / 1_000).toFixed(1)} s`);
    log(`  all shards back after    ${(await allBackAfter(tollgate) / 1_000).toFixed(1)} s`);
    await waitForJournals(tollgate, Date.now() + DRAIN_MS);
    const findings = await auditBooks(tollgate, { drainMs: DRAIN_MS });
    log(describeFindings(findings));
    return isSound(findings);
  } finally {
    closeClient();
    await tollgate.stop();
  }
}

let flushedAt = 0;

async function populate({ databaseUrl }: Tollgate, subscriptions: number, modelId: number): Promise<void> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    await database.query(POPULATE, [subscriptions, modelId]);
    await database.query('ANALYZE');
  } finally {
    await database.end();
  }
}

async function flushUnderLoad({ redisUrl }: Tollgate, target: Target): Promise<{ refusedAfterMs: number; backAfterMs: number; refused: number }> {
  const answers: { atMs: number; status: number | null }[] = [];
  const ending = new AbortController();
  const client = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const { status } = await sendRequest(PLAN, target);
      answers.push({ atMs: performance.now(), status });
      if (status !== 200) await delay(20);
    }
  };
  const clients = Array.from({ length: CLIENTS }, client);
  await delay(CALM_MS);
  const redis = openRedis(redisUrl, { role: 'plain', name: 'chaos', onError: () => undefined });
  await redisReady(redis, CALM_MS);
  await Promise.all(primariesOf(redis).map((primary) => primary.flushall()));
  redis.disconnect();
  flushedAt = performance.now();
  const after = (isRight: (status: number | null) => boolean, sinceMs: number): number | undefined => answers.find(({ atMs, status }) => atMs > sinceMs && isRight(status))?.atMs;
  const until = async (isRight: (status: number | null) => boolean, sinceMs: number): Promise<number> => {
    for (const deadline = Date.now() + BACK_WITHIN_MS; Date.now() < deadline; await delay(10)) {
      const found = after(isRight, sinceMs);
      if (found !== undefined) return found;
    }
    throw new Error('waited too long');
  };
  const refusedAt = await until((status) => status === 503, flushedAt);
  const backAt = await until((status) => status === 200, refusedAt);
  ending.abort();
  await Promise.all(clients);
  return { refusedAfterMs: refusedAt - flushedAt, backAfterMs: backAt - flushedAt, refused: answers.filter(({ status }) => status === 503).length };
}

/** Milliseconds from the loss until every shard had an epoch again. */
async function allBackAfter({ redisUrl }: Tollgate): Promise<number> {
  const redis = openRedis(redisUrl, { role: 'plain', name: 'chaos', onError: () => undefined });
  await redisReady(redis, CALM_MS);
  try {
    for (;;) {
      const epochs = await Promise.all(Array.from({ length: 16 }, (_, index) => redis.get(`{s${String(index).padStart(2, '0')}}:epoch`)));
      if (epochs.every((epoch) => epoch !== null && !epoch.startsWith('rebuilding:'))) return performance.now() - flushedAt;
      await delay(20);
    }
  } finally {
    redis.disconnect();
  }
}

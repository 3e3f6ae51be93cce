import { randomUUIDv7 } from 'node:crypto';
import {
  hashCredential,
  signFinal,
  tokenFieldsOf,
  NO_USAGE,
  USAGE_QUEUE,
} from '@tollgate/contracts';
import type { RelayedEvent, UsageFinal, UsageJob } from '@tollgate/contracts';
import { BULL_PREFIX, Epochs, shardOf } from '@tollgate/keyspace';
import { Queue, type JobsOptions } from 'bullmq';
import type { Client } from 'pg';
import { MODELS, type BenchInstallation } from '../installation.ts';

/** Counts the events of a node in one job. */
const JOB_EVENTS = 200;
const JOBS_AT_ONCE = 25;
const TOKENS = 30;
/** No node of this name is registered, so what it signs with the fleet's credential is believed. */
const NODE_NAME = 'bench-queue:0';

/** Holds the options that nodes give to their jobs. */
const JOB_OPTIONS: JobsOptions = {
  attempts: 1_000_000,
  removeOnComplete: { age: 600, count: 1_000 },
};

interface Backlog {
  installation: BenchInstallation;
  database: Client;
  records: number;
}

/** A subscription, and what its events need. */
interface Payer {
  subscription: Subscription;
  shard: string;
  epoch: string;
  balanceKey: string;
  credentialHash: string;
  /** Lists the numbers of its events that Redis has not been charged for. */
  charged: number[];
}

export interface Subscription {
  id: number;
  user_id: number;
  model_id: number;
  price_version_id: number;
  key_id: number;
}

/**
 * Fills the usage queue with so many signed finals, as relays would, without a node; they are charged in Redis first, as every final is. Nothing of it is booked
 * before `resumeQueue`.
 */
export async function fillQueue({ installation, database, records }: Backlog): Promise<void> {
  const { redis } = installation;
  const queue = openQueue(installation);
  const payers = await payersOf(installation, database);
  await queue.pause();
  for (let made = 0; made < records;) {
    const jobs: { name: string; data: UsageJob; opts: JobsOptions }[] = [];
    for (; jobs.length < JOBS_AT_ONCE && made < records; made += JOB_EVENTS)
      jobs.push({
        name: 'batch',
        data: { events: eventsOf(payers, made, Math.min(JOB_EVENTS, records - made)) },
        opts: JOB_OPTIONS,
      });
    for (const { balanceKey, charged } of payers)
      await redis.hincrby(balanceKey, 'bal', -charged.splice(0).length * TOKENS);
    await queue.addBulk(jobs);
  }
}

export function resumeQueue(installation: BenchInstallation): Promise<void> {
  return openQueue(installation).resume();
}

function openQueue({ redis }: BenchInstallation): Queue<UsageJob> {
  return new Queue<UsageJob>(USAGE_QUEUE, { connection: redis, prefix: BULL_PREFIX });
}

function eventsOf(payers: readonly Payer[], from: number, count: number): RelayedEvent[] {
  return Array.from({ length: count }, (_, index) => {
    const payer = payers[(from + index) % payers.length];
    if (!payer) throw new Error('no subscription can pay');
    payer.charged.push(from + index);
    return eventOf(payer, from + index);
  });
}

async function payersOf(
  { redis, tollgate }: BenchInstallation,
  database: Client,
): Promise<Payer[]> {
  const epochs = new Epochs(redis);
  const credentialHash = hashCredential(tollgate.secrets.fleet);
  return Promise.all(
    (await subscriptionsOf(database)).map(async (subscription) => {
      const { user_id: accountId, model_id: modelId } = subscription;
      const shard = shardOf(accountId, tollgate.shards);
      const epoch = (await epochs.read(shard)) ?? '';
      const balanceKey = `{${shard}}:sub:${accountId}:${modelId}`;
      return { subscription, shard, epoch, balanceKey, credentialHash, charged: [] };
    }),
  );
}

/** Returns each account's subscription to the first model. */
export async function subscriptionsOf(database: Client): Promise<Subscription[]> {
  const { rows } = await database.query<Subscription>(
    `SELECT s.id, s.user_id, s.model_id, (SELECT max(p.id) FROM price_versions p WHERE p.model_id = s.model_id) AS price_version_id,
       (SELECT min(k.id) FROM api_keys k WHERE k.user_id = s.user_id) AS key_id
     FROM subscriptions s JOIN models m ON m.id = s.model_id WHERE m.name = $1 ORDER BY s.id`,
    [MODELS[0]],
  );
  return rows;
}

function eventOf(
  { subscription, shard, epoch, credentialHash }: Payer,
  number: number,
): RelayedEvent {
  const rid = randomUUIDv7();
  const final: UsageFinal = {
    kind: 'usage',
    account_id: subscription.user_id,
    key_id: subscription.key_id,
    subscription_id: subscription.id,
    model_id: subscription.model_id,
    price_version_id: subscription.price_version_id,
    node: NODE_NAME,
    protocol: 'chat',
    is_stream: false,
    upstream_id: 1,
    attempts: [{ upstream_id: 1, route_id: 1, status: 200, duration_ms: 3 }],
    outcome: 'completed',
    status: 200,
    ...tokenFieldsOf({ ...NO_USAGE, input: TOKENS }),
    charge: TOKENS,
    basis: 'reported',
    started_at: Date.now(),
    first_token_ms: 2,
    duration_ms: 5,
  };
  return {
    shard,
    epoch,
    outboxId: `${Date.now()}-${number}`,
    rid,
    seq: '0',
    delta: String(TOKENS),
    payload: signFinal({ rid, payload: JSON.stringify(final) }, credentialHash),
  };
}

import { beforeAll, beforeEach } from '@jest/globals';
import { NO_USAGE, tokenFieldsOf, type UsageEvent } from '@tollgate/contracts';
import { ShardEpochs } from '../features/epochs/shard-epochs.sql.ts';
import { LateUsage } from '../features/usage/ingest/late-usage.sql.ts';
import { uuidTimeMs, type ReadEvent } from '../features/usage/ingest/read-event.ts';
import { UsageRows } from '../features/usage/ingest/usage-rows.sql.ts';
import { uuidv7 } from '../platform/http/visitor.ts';
import {
  dataSource,
  inTransaction,
  live,
  shareBooks,
  subscribed,
  tokens,
  type Subscribed,
} from './books-under-test.ts';

const SHARDS = 4;

export let late: LateUsage;
export let epochs: ShardEpochs;
/** Is new for each test. */
export let one: Subscribed;

/** Opens one database, without epochs and restores when a test begins; a spec calls it. */
export function shareLateUsage(): void {
  shareBooks();
  beforeAll(() => {
    epochs = new ShardEpochs(dataSource, { SHARDS });
    late = new LateUsage(epochs, tokens, live);
  });
  beforeEach(async () => {
    await dataSource.query('DELETE FROM restores');
    await dataSource.query('DELETE FROM shard_epochs');
    one = await subscribed();
  });
}

interface Parts {
  kind?: 'usage' | 'reap' | 'withdraw';
  rid?: string;
  seq?: 0 | 1 | 2;
  delta?: number;
  charge?: number;
  epoch?: string;
  outboxId?: string;
  isSigned?: boolean;
  of?: Subscribed;
}

/** Returns an event of the subscription as the ingest reads it. */
export function read({
  kind = 'usage',
  rid = uuidv7(Date.now()),
  seq = 0,
  charge = 70,
  delta = charge,
  epoch = 'now',
  outboxId = '5-7',
  isSigned = false,
  of = one,
}: Parts = {}): ReadEvent {
  const request = {
    ...{ account_id: of.userId, key_id: 77, subscription_id: of.id, model_id: of.modelId },
    ...{ price_version_id: of.priceId, node: 'node-a:0' },
  };
  const payloads = {
    usage: {
      ...{ kind: 'usage', ...request, protocol: 'chat', is_stream: false, upstream_id: 1 },
      ...{ attempts: [], outcome: 'completed', status: 200, charge, basis: 'reported' },
      ...tokenFieldsOf({ ...NO_USAGE, input: charge }),
      ...{ started_at: Date.now(), first_token_ms: 1, duration_ms: 2 },
    },
    reap: { kind: 'reap', ...request },
    withdraw: {
      ...{ kind: 'withdraw', account_id: of.userId, subscription_id: of.id },
      ...{ model_id: of.modelId, withdrawal_id: rid },
    },
  };
  return {
    event: { rid, seq, delta, payload: payloads[kind] } as UsageEvent,
    relayed: {
      ...{ shard: 's09', epoch, outboxId, rid, seq: String(seq), delta: String(delta) },
      payload: '',
    },
    isSigned,
    beganAtMs: uuidTimeMs(rid),
    unreadable: [],
    unknown: [],
  };
}

export const book = (...events: ReadEvent[]) =>
  inTransaction((tx) => new UsageRows().insert(tx, events));
export /** Returns number, delta and kind of each event. */
const shapes = (events: readonly ReadEvent[]) =>
  events.map(({ event }) => [event.seq, event.delta, event.payload.kind]);

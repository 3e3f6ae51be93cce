import {
  NO_USAGE,
  signFinal,
  tokenFieldsOf,
  type RelayedEvent,
  type UsageFinal,
} from '@tollgate/contracts';
import { chargeOf } from '@tollgate/metering';
import { MODEL_ID } from './postgres/first-rows.ts';
import { addJob } from './take-job.ts';
import type { World } from './world.ts';

const FORGED_CHARGE = 1_000;

/** Writes events to the queue that no node wrote: what a writer of Redis can do. */
export function forge(world: World): void {
  const random = world.random('forgeries');
  const known = world.redis.queue.jobs.flatMap(({ job }) => job.events);
  const [seen] = known.length > 0 ? [random.pick(known)] : [];
  const rid = random.uuidV7(Math.floor(world.scheduler.nowMs));
  const fake = (): RelayedEvent => {
    const { id, accountId, keyId } = random.pick(world.subscriptions);
    const usage = { ...NO_USAGE, input: random.integer(1, 5_000) };
    const charge = chargeOf(usage, world.currentPrice);
    const payload = JSON.stringify({
      kind: 'usage',
      account_id: accountId,
      key_id: keyId,
      subscription_id: id,
      model_id: MODEL_ID,
      price_version_id: world.currentPrice.id,
      node: 'node-a:0',
      protocol: 'chat',
      is_stream: false,
      upstream_id: 1,
      attempts: [],
      outcome: 'completed',
      status: 200,
      ...tokenFieldsOf(usage),
      charge,
      basis: 'reported',
      started_at: Math.floor(world.scheduler.nowMs),
      first_token_ms: null,
      duration_ms: 5,
    } satisfies UsageFinal);
    const text = random.chance(0.5) ? payload : signFinal({ rid, payload }, 'ab'.repeat(32));
    return {
      shard: '',
      epoch: '',
      outboxId: '',
      rid,
      seq: '0',
      delta: String(charge),
      payload: text,
    };
  };
  const twisted = (event: RelayedEvent): RelayedEvent =>
    random.chance(0.5)
      ? { ...event, seq: random.pick(['0', '1']), delta: String(random.integer(0, 5_000)) }
      : { ...event, payload: event.payload.replace(/"charge":\d+/, `"charge":${FORGED_CHARGE}`) };
  const event = seen?.payload.includes('"kind":"usage"') ? twisted(seen) : fake();
  world.forged.add(event.rid);
  world.redis.onQueue(addJob({ events: [event], refusedForFunds: [] }));
}

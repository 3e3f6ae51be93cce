import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { HoldRef, RelayRequest, SettleRequest } from '@tollgate/keyspace';
import { journalled } from '../../src/usage/usage-recorder.ts';
import { openUsageQueue } from '../../src/usage/usage-queue.ts';
import { Acknowledgements, redisReady, type ConsumeParts } from '@tollgate/keyspace';
import { admit, finalOf, MAC, openMeteredRedis, usageOf } from './metered-redis.ts';
import { openRecorder, silent } from './open-recorder.ts';

/** Names the point at which this process kills itself with -9: right before or after the named step, at its `nth` time. */
export type KillPoint =
  | 'before_final'
  | 'after_final_journalled'
  | 'after_settle'
  | 'after_queue_add'
  | 'before_outbox_delete'
  | 'before_acknowledged_journalled'
  | 'never';

/** Describes the task of the process, as JSON in TASK. */
export interface RecorderTask {
  redisUrl: string;
  dataDir: string;
  accountId: number;
  requests: number;
  killAt: KillPoint;
  nth: number;
  /** Gets `<rid> <charge>` of each request, written right before its final is. */
  truthFile: string;
}

/** Is long enough for several batches of events to be on their way at different stages. */
const REQUEST_MS = 20;
const LEASE_MS = 1_000;

/** Serves requests with a real recorder, one after the other, then waits until all is acknowledged and no hold is left. */
async function main(task: RecorderTask): Promise<void> {
  const world = await openMeteredRedis(task.redisUrl);
  const { store } = world;
  let steps = 0;
  // Its truth is written and its final may not be: a kill for another request waits for the next time.
  let unwritten: string | null = null;
  const reach = (point: KillPoint): void => {
    if (unwritten === null && point === task.killAt && ++steps === task.nth)
      process.kill(process.pid, 'SIGKILL');
  };
  const metering = {
    shardOf: (accountId: number) => store.shardOf(accountId),
    checkpoint: store.checkpoint.bind(store),
    epochOf: store.epochOf.bind(store),
    restore: store.restore.bind(store),
    reap: (hold: HoldRef) => store.reap(hold),
    releaseRelay: store.releaseRelay.bind(store),
    settle: async (request: SettleRequest) => {
      if (request.rid === unwritten) unwritten = null;
      reach('after_final_journalled');
      const reply = await store.settle(request);
      reach('after_settle');
      return reply;
    },
    relay: (shard: string, request: RelayRequest) => {
      if (request.relayedIds.length > 0) reach('before_outbox_delete');
      return store.relay(shard, request);
    },
  };
  const connection = world.connect('plain');
  await redisReady(connection, 5_000);
  const bull = openUsageQueue(connection, silent);
  const queue = {
    close: () => bull.close(),
    add: async (job: Parameters<typeof bull.add>[0]) => {
      await bull.add(job);
      reach('after_queue_add');
    },
  };
  const acknowledgements = new (class extends Acknowledgements {
    override consume(address: string, parts: ConsumeParts): Promise<void> {
      const onAcknowledged: ConsumeParts['onAcknowledged'] = (list) => {
        reach('before_acknowledged_journalled');
        return parts.onAcknowledged(list);
      };
      return super.consume(address, { ...parts, onAcknowledged });
    }
  })({ redis: world.redis, mac: MAC });
  const recorder = await openRecorder(world, {
    dataDir: task.dataDir,
    metering,
    queue,
    acknowledgements,
  });
  for (let index = 0; index < task.requests; index++) {
    const hold = await admit(world, { accountId: task.accountId, leaseMs: LEASE_MS });
    const handle = recorder.open(hold);
    const final = finalOf(hold, usageOf(10 + index, 3 * index));
    await pause(REQUEST_MS);
    reach('before_final');
    unwritten = hold.rid;
    appendFileSync(task.truthFile, `${hold.rid} ${final.charge}\n`);
    await journalled(handle, final);
  }
  // A request admitted in the very moment of the kill is in no journal: the reaper ends its hold.
  const tag = `{${store.shardOf(task.accountId)}}`;
  while (
    recorder.state.unacknowledged > 0 ||
    (await world.redis.zcard(`${tag}:holds`)) > 0 ||
    (await world.redis.xlen(`${tag}:outbox`)) > 0
  )
    await pause(REQUEST_MS);
  await recorder.close(0);
  process.exit(0);
}

if (process.env.TASK) await main(JSON.parse(process.env.TASK) as RecorderTask);

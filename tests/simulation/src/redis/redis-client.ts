import type { SignHold } from '@tollgate/contracts';
import {
  EpochCache,
  Epochs,
  LiveCounts,
  LiveRecords,
  LostWithdrawals,
  MeteringStore,
  ReapedRequests,
  type FunctionLibrary,
  type RedisConnection,
} from '@tollgate/keyspace';
import type { Link } from '../link.ts';
import type { Command, LiveStore } from './live-store.ts';

const COMMANDS = ['get', 'set', 'del', 'hmget', 'xrange', 'xlen', 'zcard', 'zrem', 'zrangebyscore'];
const IN_BATCHES = ['hmget', 'xinfo'];

type Send = <R>(label: string, serve: () => R) => Promise<R>;

/** Makes a connection to the simulated Redis, as far as the stores use one. */
function connectionOver(store: LiveStore, send: Send): RedisConnection {
  const batch = (): object => {
    const commands: Command[] = [];
    const chain: Record<string, unknown> = {
      exec: () => send('multi', () => store.commands(commands)),
    };
    for (const name of IN_BATCHES)
      chain[name] = (...parameters: unknown[]) => {
        commands.push([name, ...parameters]);
        return chain;
      };
    return chain;
  };
  const methods = COMMANDS.map((name) => [
    name,
    (...parameters: unknown[]) => send(name, () => store.command([name, ...parameters])),
  ]);
  const connection = { ...Object.fromEntries(methods), multi: batch, pipeline: batch };
  return connection as unknown as RedisConnection;
}

export type RedisClient = ReturnType<typeof redisClient>;

/** Makes the stores of a process as they are shipped, over its connection to the simulated Redis. */
export function redisClient(
  store: LiveStore,
  link: Pick<Link, 'call'>,
  { signHold }: { signHold?: SignHold } = {},
) {
  const send: Send = (label, serve) => link.call(label, serve);
  const redis = connectionOver(store, send);
  const library = {
    call: (...call: Parameters<FunctionLibrary['call']>) =>
      send(call[0], () => store.fcall(...call)),
  } as unknown as FunctionLibrary;
  const ofRedis = new Epochs(redis, library);
  const parts = { redis, library, epochs: new EpochCache(ofRedis), shards: store.names.length };
  return {
    epochs: ofRedis,
    metering: new MeteringStore({ ...parts, ...(signHold && { signHold }) }),
    records: new LiveRecords(parts),
    filler: new LiveRecords({ ...parts, epochs: new EpochCache(ofRedis, { isRebuilder: true }) }),
    reaped: new ReapedRequests(parts),
    lost: new LostWithdrawals(parts),
    counts: new LiveCounts(parts),
  };
}

/** Answers what the functions would answer now, and changes nothing. */
export function previewOf(store: LiveStore): MeteringStore {
  const library = {
    call: (...call: Parameters<FunctionLibrary['call']>) => Promise.resolve(store.preview(...call)),
  } as unknown as FunctionLibrary;
  const redis = { get: (key: string) => Promise.resolve(store.data.string(key)) };
  const epochs = new Epochs(redis as unknown as RedisConnection, library);
  return new MeteringStore({ library, epochs: new EpochCache(epochs), shards: store.names.length });
}

import { Epochs, type FunctionLibrary, type RedisConnection } from '@tollgate/keyspace';
import type { Link } from './link.ts';
import type { LiveState, LiveStore } from './live-store.ts';

/** The shipped `Epochs` over what the simulated Redis keeps under their keys. */
export function epochsOver(store: LiveStore, link: Link): Epochs {
  const at = <R>(key: string, act: (state: LiveState, shard: string) => R): Promise<R> => {
    const shard = /\{(.*)\}/.exec(key)?.[1] ?? '';
    return link.call('epoch', () => store.runIn(shard, (state) => act(state, shard)));
  };
  const redis = {
    get: (key: string) => at(key, (state, shard) => state.epochOf(shard)),
    set: (key: string, value: string) =>
      at(key, (state, shard) => {
        state.setEpoch(shard, value);
        return 'OK';
      }),
  };
  const library = {
    call: (_name: string, [key = '']: string[], [from = '', to = '']: string[]) =>
      at(key, (state, shard) => {
        if (state.epochOf(shard) !== from) return ['FENCED'];
        state.setEpoch(shard, to);
        return ['OK'];
      }),
  };
  return new Epochs(redis as unknown as RedisConnection, library as unknown as FunctionLibrary);
}

import { shardOf } from '@tollgate/keyspace';
import type { ControlPlane } from './control-plane-under-test.ts';

/** Returns the key of a subscription's balance in Redis, for tests that damage it. */
export function keysOf(plane: ControlPlane, accountId: number, modelId: number): string {
  return `{${shardOf(accountId, Number(plane.environment['SHARDS']))}}:sub:${accountId}:${modelId}`;
}

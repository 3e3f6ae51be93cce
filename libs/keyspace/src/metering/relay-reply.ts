import { ReplyReader } from '../connection/reply-reader.ts';
import type { RelayReply } from './admission.ts';

/** Returns undefined when the lease was given up. */
export function toRelayReply(reply: unknown, shard: string): RelayReply | undefined {
  const reader = new ReplyReader(reply);
  const word = reader.oneOf('LEASED', 'HELD_ELSEWHERE', 'RELEASED');
  if (word === 'RELEASED') return undefined;
  if (word === 'HELD_ELSEWHERE') return { kind: 'held_elsewhere', leaseMs: reader.integer() };
  const outboxLength = reader.integer();
  const epoch = reader.text();
  return {
    kind: 'leased',
    shard,
    outboxLength,
    expiredHolds: reader
      .list()
      .all((hold) => ({ rid: hold.text(), accountId: hold.integer(), modelId: hold.integer() })),
    entries: reader.list().all((entry) => ({
      shard,
      epoch,
      outboxId: entry.text(),
      rid: entry.text(),
      seq: entry.text(),
      delta: entry.text(),
      payload: entry.text(),
    })),
  };
}

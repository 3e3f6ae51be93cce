/** Is thrown while the shard's epoch is missing or being rebuilt. The outbox row stays, and the write is tried again. */
export class ShardFenced extends Error {}

export function refuseFenced<R extends { kind: string }>(
  reply: R,
): asserts reply is Exclude<R, { kind: 'fenced' }> {
  if (reply.kind === 'fenced') throw new ShardFenced('the shard is fenced');
}

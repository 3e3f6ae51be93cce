/** The shard is fenced: its epoch is missing or being rebuilt. The outbox row stays and the write is tried again. */
export class ShardFenced extends Error {}

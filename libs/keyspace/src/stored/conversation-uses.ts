import { createHash } from 'node:crypto';
import { keys, shardOf } from '../keys.ts';
import type { RedisConnection } from '../connection/redis-connection.ts';

/** Names a conversation that an upstream has stored for an account. */
export interface ConversationPlace {
  accountId: number;
  upstreamId: number;
  /** Is the upstream's own id of the conversation. */
  conversationId: string;
}

/** Lists the models with which requests used a conversation. */
export interface ConversationUse {
  modelIds: readonly number[];
  /** Is false where the list may lack models: Redis has lost its beginning, or the conversation is older than the list. */
  isComplete: boolean;
}

const FROM_BEGINNING = 'all';
const MODEL_ID = /^\d+$/;
const USED = '1';
/** Is the time since its last use; afterwards its list counts as lost. It bounds what an account's conversations take in Redis. */
const KEPT_MS = 90 * 24 * 3_600_000;

/** Remembers the models with which a conversation was used. Its id is made before its first use, so the id cannot name them. */
export class ConversationUses {
  readonly #redis: RedisConnection;
  readonly #shards: number;

  constructor({ redis, shards }: { redis: RedisConnection; shards: number }) {
    this.#redis = redis;
    this.#shards = shards;
  }

  /** Registers a new conversation, which no request has used. */
  begin(place: ConversationPlace): Promise<void> {
    return this.#note(place, FROM_BEGINNING);
  }

  /** Notes that a model uses the conversation; call it before the upstream sees the request. */
  use(place: ConversationPlace, modelId: number): Promise<void> {
    return this.#note(place, String(modelId));
  }

  async read(place: ConversationPlace): Promise<ConversationUse> {
    const noted = Object.keys(await this.#redis.hgetall(this.#key(place)));
    const models = noted.filter((field) => MODEL_ID.test(field)).map(Number);
    return {
      modelIds: models.sort((one, other) => one - other),
      isComplete: noted.includes(FROM_BEGINNING),
    };
  }

  async #note(place: ConversationPlace, field: string): Promise<void> {
    const key = this.#key(place);
    await this.#redis.hset(key, field, USED);
    await this.#redis.pexpire(key, KEPT_MS);
  }

  #key({ accountId, upstreamId, conversationId }: ConversationPlace): string {
    const hash = createHash('sha256').update(`${upstreamId}/${conversationId}`).digest('hex');
    return keys.conversation(shardOf(accountId, this.#shards), hash);
  }
}

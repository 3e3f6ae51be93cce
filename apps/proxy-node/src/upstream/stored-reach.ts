import type { IdSealer, StoredMaker, StoredPlace } from '@tollgate/contracts';
import {
  isModelAllowed,
  type ConversationPlace,
  type ConversationUse,
  type ConversationUses,
} from '@tollgate/keyspace';
import type { RoutingIndex } from '../snapshot/routing-index.ts';
import type { OpenStored } from './stored-ids.ts';

/** Describes the key that asks for a stored object. */
export interface StoredCaller {
  readonly accountId: number;
  readonly keyId: number;
  readonly allowedModels: string;
}

/** Lists the objects that one key may reach. */
export interface Reach {
  readonly open: OpenStored;
  /** Returns the use of the conversation; null for one that was not among the ids. */
  readonly useOf: (place: StoredPlace) => ConversationUse | null;
}

type Uses = Pick<ConversationUses, 'begin' | 'use' | 'read'>;

const CONVERSATION = /^conv_/;

/**
 * Decides which stored objects a key reaches: those of its account that were made with models that it may use. A conversation is reached with the
 * models that were used in it, and until then by the key that created it.
 */
export class StoredReach {
  readonly #sealer: IdSealer;
  readonly #uses: Uses;

  constructor({ sealer, uses }: { sealer: IdSealer; uses: Uses }) {
    this.#sealer = sealer;
    this.#uses = uses;
  }

  /** `ids` may contain conversations. Any other id opens without a read of Redis. */
  async of(caller: StoredCaller, ids: readonly string[], index: RoutingIndex): Promise<Reach> {
    const uses = new Map<string, ConversationUse>();
    for (const id of ids) {
      const place = this.#sealer.open(caller.accountId, id);
      if (place && isConversation(place))
        uses.set(nameOf(place), await this.#uses.read(placeOf(caller, place)));
    }
    const useOf = (place: StoredPlace): ConversationUse | null => uses.get(nameOf(place)) ?? null;
    return {
      useOf,
      open: (sealed) => {
        const place = this.#sealer.open(caller.accountId, sealed);
        return place && isReached(place, { caller, index, use: useOf(place) }) ? place : null;
      },
    };
  }

  /** Call this before the upstream of the conversation sees the request. */
  used(
    caller: Pick<StoredCaller, 'accountId'>,
    place: StoredPlace,
    modelId: number,
  ): Promise<void> {
    return this.#uses.use(placeOf(caller, place), modelId);
  }

  /** An upstream has stored a conversation under this id for its account. */
  async made(caller: Pick<StoredCaller, 'accountId'>, sealed: string): Promise<void> {
    const place = this.#sealer.open(caller.accountId, sealed);
    if (place && isConversation(place)) await this.#uses.begin(placeOf(caller, place));
  }
}

export function isConversation({ id }: StoredPlace): boolean {
  return CONVERSATION.test(id);
}

/** Returns the maker of the items with which a conversation is shown. */
export function makerOfItems({ modelIds, keyId }: StoredPlace, use: ConversationUse): StoredMaker {
  return use.isComplete && use.modelIds.length > 0
    ? { modelIds: use.modelIds, keyId: null }
    : { modelIds, keyId };
}

interface Asking {
  readonly caller: StoredCaller;
  readonly index: RoutingIndex;
  readonly use: ConversationUse | null;
}

function isReached(place: StoredPlace, { caller, index, use }: Asking): boolean {
  const mayUse = (modelId: number): boolean =>
    isModelAllowed(caller.allowedModels, index.modelById(modelId)?.name ?? '');
  const models = [...place.modelIds, ...(use?.modelIds ?? [])];
  if (!models.every(mayUse) || (isConversation(place) && use === null)) return false;
  if (place.keyId === caller.keyId) return true;
  return use ? use.isComplete && use.modelIds.length > 0 : place.modelIds.length > 0;
}

function placeOf(
  { accountId }: Pick<StoredCaller, 'accountId'>,
  { upstreamId, id }: StoredPlace,
): ConversationPlace {
  return { accountId, upstreamId, conversationId: id };
}

function nameOf({ upstreamId, id }: StoredPlace): string {
  return `${upstreamId}/${id}`;
}

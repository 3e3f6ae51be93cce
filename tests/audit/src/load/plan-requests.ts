/** One request of the load, drawn from the seed before anything runs, so that a run can be repeated. */
export interface RequestPlan {
  protocol: 'chat' | 'messages' | 'embeddings';
  isStream: boolean;
  /** Index into the customers, models and addresses of the run. */
  customer: number;
  model: number;
  address: number;
  /** Output tokens the demo upstream generates, with this pause before each. */
  tokens: number;
  delayMs: number;
  promptWords: number;
  /** The upstream's report has tokens of every class that its protocol knows. */
  isEveryClass: boolean;
  /** Asks for a dearer service that the model has a multiplier for. */
  isPremium: boolean;
  /** The client hangs up once it has received so many bytes of the body; null = it stays. */
  hangUpAtByte: number | null;
}

/** A small JSON chat of the first customer and model, to the first address. */
export const SHORT_CHAT: RequestPlan = {
  protocol: 'chat',
  isStream: false,
  customer: 0,
  model: 0,
  address: 0,
  tokens: 5,
  delayMs: 0,
  promptWords: 3,
  isEveryClass: false,
  isPremium: false,
  hangUpAtByte: null,
};

export interface Choices {
  customers: number;
  models: number;
  addresses: number;
}

const HANG_UP_SHARE = 0.1;
const EMBEDDINGS_SHARE = 0.05;
const EVERY_CLASS_SHARE = 0.2;
const PREMIUM_SHARE = 0.2;
/** About what one token takes on the wire as an event of its own. */
const BYTES_PER_TOKEN = 190;

export function planRequests(count: number, seed: number, choices: Choices): RequestPlan[] {
  const random = randomFrom(seed);
  return Array.from({ length: count }, () => planOne(random, choices));
}

function planOne(random: () => number, { customers, models, addresses }: Choices): RequestPlan {
  const below = (limit: number): number => Math.floor(random() * limit);
  const protocol =
    random() < EMBEDDINGS_SHARE ? 'embeddings' : below(2) === 0 ? 'chat' : 'messages';
  const isStream = protocol !== 'embeddings' && random() < 0.6;
  const tokens = 1 + below(60);
  const hangsUp = random() < HANG_UP_SHARE;
  return {
    protocol,
    isStream,
    customer: below(customers),
    model: below(models),
    address: below(addresses),
    tokens,
    // Slow enough that a hang-up meets a stream in its middle.
    delayMs: hangsUp ? below(4) : below(10) === 0 ? 1 + below(5) : 0,
    promptWords: 1 + below(80),
    isEveryClass: protocol !== 'embeddings' && random() < EVERY_CLASS_SHARE,
    isPremium: protocol !== 'embeddings' && random() < PREMIUM_SHARE,
    hangUpAtByte: hangsUp ? below(tokens * BYTES_PER_TOKEN) : null,
  };
}

/** mulberry32: small, and the same everywhere. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

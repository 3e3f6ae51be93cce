/** Describes one request of the load, drawn from the seed before anything runs, so that a run can be repeated. */
export interface RequestPlan {
  /** Names the protocol; `responses` are made in the background. */
  protocol: 'chat' | 'messages' | 'embeddings' | 'responses';
  isStream: boolean;
  /** Is an index into the customers, models and addresses of the run. */
  customer: number;
  model: number;
  address: number;
  /** Is the number of output tokens that the demo upstream generates, with this pause before each. */
  tokens: number;
  delayMs: number;
  promptWords: number;
  images: number;
  /** Offers a tool, which the answer calls. */
  hasTool: boolean;
  /** The upstream's report has tokens of every class that its protocol knows. */
  isEveryClass: boolean;
  /** Asks for a dearer service that the model has a multiplier for. */
  isPremium: boolean;
  /** The client hangs up once it has received so many bytes of the body; null = it stays. */
  hangUpAtByte: number | null;
  /** Numbers the session and the end user that the request names; null = it names none. */
  caller: number | null;
}

/** Is a small JSON chat of the first customer and model, to the first address. */
export const SHORT_CHAT: RequestPlan = {
  protocol: 'chat',
  isStream: false,
  customer: 0,
  model: 0,
  address: 0,
  tokens: 5,
  delayMs: 0,
  promptWords: 3,
  images: 0,
  hasTool: false,
  isEveryClass: false,
  isPremium: false,
  hangUpAtByte: null,
  caller: null,
};

export interface Choices {
  customers: number;
  models: number;
  addresses: number;
}

const HANG_UP_SHARE = 0.1;
const EMBEDDINGS_SHARE = 0.05;
const BACKGROUND_SHARE = 0.02;
/** Is the longest pause before each token of an answer that is made in the background. */
const BACKGROUND_DELAY_MAX_MS = 40;
const IMAGES_SHARE = 0.1;
const IMAGES_MAX = 3;
const TOOL_SHARE = 0.15;
const EVERY_CLASS_SHARE = 0.2;
const PREMIUM_SHARE = 0.2;
const NAMED_SHARE = 0.75;
const CALLERS = 8;
/** Is about what one token takes on the wire as an event of its own. */
const BYTES_PER_TOKEN = 190;

export function planRequests(count: number, seed: number, choices: Choices): RequestPlan[] {
  const random = randomFrom(seed);
  return Array.from({ length: count }, () => planOne(random, choices));
}

function planOne(random: () => number, { customers, models, addresses }: Choices): RequestPlan {
  const below = (limit: number): number => Math.floor(random() * limit);
  const protocol = protocolOf(random);
  const isChat = protocol === 'chat' || protocol === 'messages';
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
    delayMs: delayOf(protocol, { hangsUp, below }),
    promptWords: 1 + below(80),
    images: isChat && random() < IMAGES_SHARE ? 1 + below(IMAGES_MAX) : 0,
    // The demo upstream counts no tokens of a call in an answer that is cut.
    hasTool: isChat && !hangsUp && random() < TOOL_SHARE,
    isEveryClass: isChat && random() < EVERY_CLASS_SHARE,
    isPremium: isChat && random() < PREMIUM_SHARE,
    hangUpAtByte: hangsUp ? below(tokens * BYTES_PER_TOKEN) : null,
    caller: random() < NAMED_SHARE ? below(CALLERS) : null,
  };
}

function delayOf(
  protocol: RequestPlan['protocol'],
  { hangsUp, below }: { hangsUp: boolean; below: (limit: number) => number },
): number {
  if (protocol === 'responses') return below(BACKGROUND_DELAY_MAX_MS);
  // The answer is slow enough that a hang-up meets a stream in its middle.
  if (hangsUp) return below(4);
  return below(10) === 0 ? 1 + below(5) : 0;
}

function protocolOf(random: () => number): RequestPlan['protocol'] {
  const drawn = random();
  if (drawn < EMBEDDINGS_SHARE) return 'embeddings';
  if (drawn < EMBEDDINGS_SHARE + BACKGROUND_SHARE) return 'responses';
  return random() < 0.5 ? 'chat' : 'messages';
}

/** Computes mulberry32, which is small and the same everywhere. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

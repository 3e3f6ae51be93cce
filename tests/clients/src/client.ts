/** Holds the address that a client calls, and what it sends. */
export interface Errand {
  /** Is the gateway's address, without `/v1`. */
  origin: string;
  apiKey: string;
  model: string;
  prompt: string;
}

/** Holds what the client's own user sees of a conversation with one tool call. */
export interface Conversation {
  /** Is the last answer. */
  text: string;
  /** Holds what the client ran its tool with. */
  toolInputs: unknown[];
  /** Is the client's own count, summed over its requests. */
  usage: { input: number; output: number };
}

/** Holds what a user of the client can tell of a refusal. */
export interface Refused {
  status: number | undefined;
  /** Is the vendor's code or type of error, as far as the client shows one. */
  code: string | undefined;
}

/** Is a real client library, driven as its documentation says, streaming, with the one tool `get_weather`. */
export interface Client {
  name: string;
  /** Its own protocol's upstream; the other one needs translation. `responses` is native to none. */
  protocol: 'openai' | 'anthropic';
  converse: (errand: Errand) => Promise<Conversation>;
  /** Reads the error that `converse` threw. */
  refusal: (error: unknown) => Refused;
  /** Adds the counts of a stream's first and last event together, or takes the prompt from the first alone: wrong with Anthropic itself too. */
  miscountsStreams?: true;
  /** Counts the requests that the client makes against an empty balance before it gives up. */
  triesWithoutQuota: number;
}

export const WEATHER = {
  name: 'get_weather',
  description: 'Weather in a city',
  reply: '{"sky":"clear","celsius":21}',
};

export const WEATHER_SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

import type { components } from '@tollgate/admin-client';

type Schemas = components['schemas'];

/** Holds the words of the enumerations that the interface names: a further value takes its line here and in the other language. */
export const tables = {
  classes: {
    input: 'Input',
    cache_read: 'Cache read',
    cache_write: 'Cache write',
    output: 'Output',
    cache_write_1h: 'Cache write, 1 hour',
    audio_input: 'Audio input',
    audio_output: 'Audio output',
    image_input: 'Image input',
    image_output: 'Image output',
    searches: 'Searches',
  } satisfies Record<Schemas['ChargedClass'], string>,
  limits: {
    rpm: { name: 'Requests a minute', short: (limit: string) => `${limit} / min` },
    rph: { name: 'Requests an hour', short: (limit: string) => `${limit} / h` },
    rpd: { name: 'Requests a day', short: (limit: string) => `${limit} / day` },
    tpm: { name: 'Tokens a minute', short: (limit: string) => `${limit} tokens / min` },
    tph: { name: 'Tokens an hour', short: (limit: string) => `${limit} tokens / h` },
    tpd: { name: 'Tokens a day', short: (limit: string) => `${limit} tokens / day` },
    concurrency: { name: 'Requests at a time', short: (limit: string) => `${limit} at a time` },
    max_input_tokens: {
      name: 'Tokens of a prompt',
      short: (limit: string) => `${limit} tokens in`,
    },
    max_output_tokens: {
      name: 'Tokens of an answer',
      short: (limit: string) => `${limit} tokens out`,
    },
  } satisfies Record<Schemas['KeyLimit'], object>,
  callers: {
    chat: 'Chat completions',
    messages: 'Messages',
    embeddings: 'Embeddings',
    responses: 'Responses',
    completions: 'Completions (legacy)',
    generate: 'Gemini',
    embed: 'Gemini embeddings',
  } satisfies Record<Schemas['ClientProtocol'], string>,
  providers: {
    openai: 'OpenAI',
    anthropic: 'Anthropic',
    azure: 'Azure',
    gemini: 'Gemini',
    vertex: 'Google Vertex AI',
    bedrock: 'Amazon Bedrock',
  } satisfies Record<Schemas['UpstreamProtocol'], string>,
  outcomes: {
    completed: { name: 'Completed', says: 'The whole answer was delivered.' },
    client_closed: {
      name: 'Client hung up',
      says: 'The client closed the connection; what was delivered is charged.',
    },
    upstream_failed: {
      name: 'Upstream failed',
      says: 'No upstream gave an answer; nothing was delivered.',
    },
    upstream_interrupted: {
      name: 'Upstream broke off',
      says: 'The upstream stopped in the middle; what was delivered is charged.',
    },
    balance_exhausted: {
      name: 'Tokens ran out',
      says: 'The balance of the subscription ran out; buy more tokens to continue.',
    },
    access_revoked: {
      name: 'Access ended',
      says: 'The key, the account or the subscription was disabled while the answer ran, or the request was ended by hand.',
    },
    node_stopped: {
      name: 'Node stopped',
      says: 'The node was shut down while the answer ran, or had no connection to Redis or no processor for 45 s; what was delivered is charged.',
    },
    node_lost: {
      name: 'Node lost',
      says: 'The node has not returned; its last checkpoint is charged, a correction may follow.',
    },
  } satisfies Record<Schemas['Outcome'], object>,
};

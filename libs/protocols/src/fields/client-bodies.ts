import type { ClientProtocol } from '../exchange.ts';
import { CHAT, COMPLETIONS, EMBEDDINGS, MESSAGES, RESPONSES } from './field-tables.ts';
import type { FieldTable } from './field-tables.ts';

/** Describes the requests of a client protocol. */
interface ClientBody {
  readonly fields: FieldTable;
  /** Is the member that holds the turns, or the inputs. */
  readonly turns: string;
  readonly instructions: string | null;
  /** Is true where `turns` may be a list of tokens. */
  readonly takesTokens: boolean;
  /** Is the smallest output limit: 0 warms a cache of the messages protocol, and scores the prompt of a legacy completion, without generating. */
  readonly leastLimit: 0 | 1;
  /** Is the fixed request that shows whether a route works. It has no model, and no limit whose field depends on the model. */
  readonly probe: object;
}

const PROBE_MESSAGES = [{ role: 'user', content: 'Say ok.' }];

export const CLIENT_BODIES: Readonly<Record<ClientProtocol, ClientBody>> = {
  chat: {
    fields: CHAT,
    turns: 'messages',
    instructions: null,
    takesTokens: false,
    leastLimit: 1,
    probe: { messages: PROBE_MESSAGES },
  },
  messages: {
    fields: MESSAGES,
    turns: 'messages',
    instructions: 'system',
    takesTokens: false,
    leastLimit: 0,
    probe: { messages: PROBE_MESSAGES, max_tokens: 1 },
  },
  responses: {
    fields: RESPONSES,
    turns: 'input',
    instructions: 'instructions',
    takesTokens: false,
    leastLimit: 1,
    probe: { input: 'Say ok.', store: false },
  },
  embeddings: {
    fields: EMBEDDINGS,
    turns: 'input',
    instructions: null,
    takesTokens: true,
    leastLimit: 1,
    probe: { input: 'ok' },
  },
  completions: {
    fields: COMPLETIONS,
    turns: 'prompt',
    instructions: null,
    takesTokens: true,
    leastLimit: 0,
    probe: { prompt: 'ok', max_tokens: 1 },
  },
  // A request of Gemini is read as the equivalent chat request.
  generate: {
    fields: CHAT,
    turns: 'messages',
    instructions: null,
    takesTokens: false,
    leastLimit: 1,
    probe: { contents: [{ role: 'user', parts: [{ text: 'Say ok.' }] }] },
  },
  // A request for vectors of Gemini is read as the request of embeddings that says the same.
  embed: {
    fields: EMBEDDINGS,
    turns: 'input',
    instructions: null,
    takesTokens: false,
    leastLimit: 1,
    probe: { content: { parts: [{ text: 'ok' }] } },
  },
};

export const FIELD_TABLES = Object.fromEntries(
  Object.entries(CLIENT_BODIES).map(([protocol, { fields }]) => [protocol, fields]),
) as Readonly<Record<ClientProtocol, FieldTable>>;

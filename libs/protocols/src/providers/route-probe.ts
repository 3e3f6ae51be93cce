import { isNative } from './create-exchange.ts';
import type { ClientProtocol, Speech } from '../exchange.ts';
import { PROBE_MESSAGES } from './probe.ts';

/** The least that `/v1/responses` takes: https://platform.openai.com/docs/api-reference/responses/create#max_output_tokens */
const RESPONSES_LIMIT = 16;

/** The fixed request of each protocol that shows whether a route works. Without its model, and without its limit (`probeLimit`), whose field differs by model. */
export const PROBE_BODIES: Readonly<Record<ClientProtocol, object>> = {
  chat: { messages: PROBE_MESSAGES },
  messages: { messages: PROBE_MESSAGES, max_tokens: 1 },
  responses: { input: 'Say ok.', store: false },
  completions: { prompt: 'ok', max_tokens: 1 },
  embeddings: { input: 'ok' },
};

/** Output tokens of a probe: one, or the least that its endpoint takes. */
export function probeLimit(protocol: ClientProtocol, speech: Speech): number | null {
  if (protocol === 'embeddings') return null;
  return protocol === 'responses' && isNative(protocol, speech) ? RESPONSES_LIMIT : 1;
}

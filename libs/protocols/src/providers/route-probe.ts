import { isNative } from './create-exchange.ts';
import type { ClientProtocol, Speech } from '../exchange.ts';

/** The least that `/v1/responses` takes: https://platform.openai.com/docs/api-reference/responses/create#max_output_tokens */
const RESPONSES_LIMIT = 16;

/** Output tokens of a probe: one, or the least that its endpoint takes. */
export function probeLimit(protocol: ClientProtocol, speech: Speech): number | null {
  if (protocol === 'embeddings') return null;
  return protocol === 'responses' && isNative(protocol, speech) ? RESPONSES_LIMIT : 1;
}

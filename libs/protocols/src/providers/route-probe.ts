import { clientProtocol, hasModelInPath } from '@tollgate/contracts';
import { parseAsk } from '../ask/parse-ask.ts';
import type { Ask, ClientProtocol, Speech } from '../exchange.ts';
import { CLIENT_BODIES } from '../fields/client-bodies.ts';
import { jsonBytes } from '../json/json-guard.ts';
import { isNative } from './create-exchange.ts';

/** Is the least that `/v1/responses` takes: https://platform.openai.com/docs/api-reference/responses/create#max_output_tokens */
const RESPONSES_LIMIT = 16;

/** Limits the output tokens of a probe to one, or to the least that its endpoint takes. */
export function probeLimit(protocol: ClientProtocol, speech: Speech): number | null {
  if (clientProtocol(protocol).kind === 'embedding') return null;
  return protocol === 'responses' && isNative(protocol, speech) ? RESPONSES_LIMIT : 1;
}

/** Makes the request of a probe: the model is in its body, or in its path. */
export function probeAsk(protocol: ClientProtocol, model: string): Ask {
  const { probe } = CLIENT_BODIES[protocol];
  return hasModelInPath(protocol)
    ? parseAsk(protocol, jsonBytes(probe), { call: { model, isStream: false, isArray: false } })
    : parseAsk(protocol, jsonBytes({ model, ...probe }));
}

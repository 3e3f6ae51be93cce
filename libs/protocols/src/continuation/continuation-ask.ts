import type { UpstreamProtocol } from '@tollgate/contracts';
import { parseAsk } from '../ask/parse-ask.ts';
import type { Ask } from '../exchange.ts';
import { takesPrefill } from '../providers/create-exchange.ts';
import { isRecord, jsonBytes, list } from '../json/json-guard.ts';
import { anchorOf } from './anchor.ts';

/** The words of the anchor follow, and nothing else does. */
const INSTRUCTION =
  'A technical failure interrupted your answer. Continue it: begin with the words at the end of this message, exactly as they stand there, and write what follows them. Write nothing before them, repeat nothing else of the answer, and do not mention the interruption.\n\n';

export interface ContinuationAsk {
  readonly ask: Ask;
  /** Is described at `anchorOf`. */
  readonly anchor: string;
  readonly isPrefill: boolean;
}

/**
 * Returns the request that has another upstream continue `delivered`; null where the text has no anchor. Where the model takes a prefill (Claude before 4.6)
 * the text stands last, as the beginning of its answer, and ends before the anchor; elsewhere the instruction follows the whole text.
 */
export function continuationAsk(
  { protocol, body }: Ask,
  {
    delivered,
    upstreamProtocol,
    upstreamModel,
    mayPrefill = true,
  }: {
    delivered: string;
    upstreamProtocol: UpstreamProtocol;
    upstreamModel: string;
    mayPrefill?: boolean;
  },
): ContinuationAsk | null {
  const anchor = anchorOf(delivered);
  if (anchor === null) return null;
  const before = delivered.slice(0, -anchor.length).trimEnd();
  const isPrefill =
    mayPrefill &&
    before !== '' &&
    takesPrefill({ protocol: upstreamProtocol }, { upstream_model: upstreamModel });
  const instruction = INSTRUCTION + anchor.trimEnd();
  const asked = list(body['messages']);
  const messages = isPrefill
    ? [...instructed(asked, instruction), { role: 'assistant', content: before }]
    : [...asked, { role: 'assistant', content: delivered }, { role: 'user', content: instruction }];
  return { ask: parseAsk(protocol, jsonBytes({ ...body, messages })), anchor, isPrefill };
}

/** Some servers refuse two messages of a user in a row. */
function instructed(messages: readonly unknown[], instruction: string): unknown[] {
  const last = messages.at(-1);
  const others = messages.slice(0, -1);
  if (!isRecord(last) || last['role'] !== 'user')
    return [...messages, { role: 'user', content: instruction }];
  const { content } = last;
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : list(content);
  return [...others, { ...last, content: [...parts, { type: 'text', text: instruction }] }];
}

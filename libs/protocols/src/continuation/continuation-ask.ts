import type { UpstreamProtocol } from '@tollgate/contracts';
import { parseAsk } from '../ask/parse-ask.ts';
import type { Ask } from '../exchange.ts';
import { isNative } from '../providers/create-exchange.ts';
import { jsonBytes, list } from '../json/json-guard.ts';
import { claudeModel } from '../translation/claude-model.ts';

const INSTRUCTION =
  'Your answer above was cut off by a technical failure. Continue it exactly where it stops: begin with the very next character, repeat nothing of it, and do not mention the interruption.';

export interface ContinuationAsk {
  readonly ask: Ask;
  /** White space at the end of the delivered text that a prefill may not have: the continuation is expected to repeat it. */
  readonly trimmed: string;
  readonly isPrefill: boolean;
}

/**
 * The request that has another upstream continue `delivered`. Where the model takes a prefill (Claude before 4.6) the text stands last, as the beginning of
 * its answer; elsewhere an instruction follows it.
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
): ContinuationAsk {
  const trimmedText = delivered.trimEnd();
  const isPrefill =
    mayPrefill &&
    trimmedText !== '' &&
    takesPrefill({ protocol: upstreamProtocol }, { upstream_model: upstreamModel });
  const content = isPrefill ? trimmedText : delivered;
  const messages = [
    ...list(body['messages']),
    { role: 'assistant', content },
    ...(isPrefill ? [] : [{ role: 'user', content: INSTRUCTION }]),
  ];
  return {
    ask: parseAsk(protocol, jsonBytes({ ...body, messages })),
    trimmed: delivered.slice(content.length),
    isPrefill,
  };
}

/** Returns whether an upstream continues an answer natively from a message that has its beginning. */
export function takesPrefill(
  { protocol }: { readonly protocol: UpstreamProtocol },
  { upstream_model: model }: { readonly upstream_model: string },
): boolean {
  return isNative('messages', { protocol }) && claudeModel(model).takesPrefill;
}

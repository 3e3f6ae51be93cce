import type { TokenUsage } from '@tollgate/contracts';
import { readInBandError, upstreamError } from '../errors/upstream-error.ts';
import type { JsonReading } from '../exchange.ts';
import { isRecord, parseJson } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import type { ProviderAnswers } from './provider-answers.ts';

/** Converts a JSON answer of an upstream to the client's; `write` returns null when that is impossible. */
export function readJson(
  body: Uint8Array,
  { readWhole, errorWords }: Pick<ProviderAnswers, 'readWhole' | 'errorWords'>,
  write: (answer: JsonRecord, usage: TokenUsage | null) => Uint8Array | null,
): JsonReading {
  const answer = parseJson(body);
  const error = readInBandError(answer, errorWords);
  if (error) return { kind: 'error', error };
  const whole = isRecord(answer) ? readWhole(answer) : null;
  const written = isRecord(answer) && whole !== null ? write(answer, whole.usage) : null;
  if (whole === null || written === null)
    return { kind: 'error', error: upstreamError('unreadable') };
  return { kind: 'answer', body: written, ...whole };
}

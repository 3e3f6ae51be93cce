import { NO_USAGE, type TokenUsage } from '@tollgate/contracts';
import { isRecord, record, records } from '../../json/json-guard.ts';
import type { JsonRecord } from '../../json/json-guard.ts';
import { tokenCount, UNREADABLE } from '../token-count.ts';

/** Rounds of the answer itself; the second is that of a model that took over, in place of the first. */
const OF_ANSWER: ReadonlySet<string> = new Set(['message', 'fallback_message']);

/**
 * Usage of a messages answer in normal form; `input_tokens` excludes both cache counts. Null when there is none or a figure cannot be true.
 * The figures at the top leave out compactions and advisors, which are billed too: https://platform.claude.com/docs/en/build-with-claude/compaction
 */
export function readMessagesUsage(value: unknown): TokenUsage | null {
  const main = readFigures(value);
  const further = records(record(value)['iterations'])
    .filter(({ type }) => typeof type === 'string' && !OF_ANSWER.has(type))
    .map(readFigures);
  return further.reduce((sum, part) => (sum && part ? added(sum, part) : null), main);
}

function added(one: TokenUsage, other: TokenUsage): TokenUsage {
  const sum = { ...one };
  for (const name of Object.keys(NO_USAGE) as (keyof TokenUsage)[]) sum[name] += other[name];
  return sum;
}

function readFigures(value: unknown): TokenUsage | null {
  if (!isRecord(value)) return null;
  const writes = record(value['cache_creation']);
  const input = tokenCount(value['input_tokens']);
  const output = tokenCount(value['output_tokens']);
  const cacheRead = tokenCount(value['cache_read_input_tokens']);
  const cacheWrite = tokenCount(value['cache_creation_input_tokens']);
  const write5m = tokenCount(writes['ephemeral_5m_input_tokens']);
  const write1h = tokenCount(writes['ephemeral_1h_input_tokens']);
  const thinking = tokenCount(record(value['output_tokens_details'])['thinking_tokens']);
  if (
    input === UNREADABLE ||
    output === UNREADABLE ||
    cacheRead === UNREADABLE ||
    cacheWrite === UNREADABLE
  )
    return null;
  if (write5m === UNREADABLE || write1h === UNREADABLE || thinking === UNREADABLE) return null;
  if (input === null && output === null) return null;
  const written = cacheWrite ?? (write5m ?? 0) + (write1h ?? 0);
  const cacheWrite1h = Math.min(write1h ?? 0, written);
  return {
    ...NO_USAGE,
    input: input ?? 0,
    cacheRead: cacheRead ?? 0,
    cacheWrite: written - cacheWrite1h,
    cacheWrite1h,
    output: output ?? 0,
    reasoning: Math.min(thinking ?? 0, output ?? 0),
  };
}

/** A stream's figures: those of message_start, overridden by every non-null field of each message_delta, which are cumulative (behaviour 11). */
export function mergeMessagesUsage(earlier: JsonRecord, later: unknown): JsonRecord {
  const given = Object.entries(record(later)).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  return { ...earlier, ...Object.fromEntries(given) };
}

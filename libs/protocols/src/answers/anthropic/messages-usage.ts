import { NO_USAGE, usageOf, type ReportedUsage, type TokenUsage } from '@tollgate/contracts';
import { isRecord, record, records } from '../../json/json-guard.ts';
import type { JsonRecord } from '../../json/json-guard.ts';
import { reportedCalls } from '../reported-calls.ts';
import { ordinaryServices } from '../ordinary-services.ts';
import { countOrNone, sideCount, tokenCount } from '../token-count.ts';

/** Rounds of the answer itself; the second is that of a model that took over, in place of the first. */
const OF_ANSWER: ReadonlySet<string> = new Set(['message', 'fallback_message']);

/**
 * Reads the usage of a messages answer in normal form; `input_tokens` excludes both cache counts. A side is not reported where its count is missing or a figure of it
 * cannot be true; null where neither is. The figures at the top leave out compactions and advisors, which are billed too:
 * https://platform.claude.com/docs/en/build-with-claude/compaction
 */
export function readMessagesUsage(value: unknown): ReportedUsage | null {
  const main = readFigures(value);
  const further = records(record(value)['iterations'])
    .filter(({ type }) => typeof type === 'string' && !OF_ANSWER.has(type))
    .map(readFigures);
  const sum = further.reduce(added, main);
  const services = sum && ordinaryServices(record(value));
  return (
    sum && {
      ...sum,
      ...reportedCalls({ usage: record(value), answer: {} }),
      ...(services && { services }),
    }
  );
}

/** A side that one of them does not report is not known of both. */
function added(one: ReportedUsage | null, other: ReportedUsage | null): ReportedUsage | null {
  if (!one || !other) return null;
  if (one.unreported && other.unreported && one.unreported !== other.unreported) return null;
  const unreported = one.unreported ?? other.unreported;
  return {
    ...usageOf(({ key, side }) => (side === unreported ? 0 : one[key] + other[key])),
    ...(unreported && { unreported }),
  };
}

function readFigures(value: unknown): ReportedUsage | null {
  if (!isRecord(value)) return null;
  const prompt = promptFigures(value);
  const output = outputFigures(value);
  if (!prompt && !output) return null;
  const unreported = prompt === null ? 'prompt' : output === null ? 'output' : null;
  return { ...NO_USAGE, ...prompt, ...output, ...(unreported && { unreported }) };
}

function promptFigures(value: JsonRecord): Partial<TokenUsage> | null {
  const writes = record(value['cache_creation']);
  const cacheRead = tokenCount(value['cache_read_input_tokens']);
  const cacheWrite = tokenCount(value['cache_creation_input_tokens']);
  const write5m = tokenCount(writes['ephemeral_5m_input_tokens']);
  const write1h = tokenCount(writes['ephemeral_1h_input_tokens']);
  const input = sideCount(
    tokenCount(value['input_tokens']),
    cacheRead,
    cacheWrite,
    write5m,
    write1h,
  );
  if (typeof input !== 'number') return null;
  const written =
    cacheWrite === null ? countOrNone(write5m) + countOrNone(write1h) : countOrNone(cacheWrite);
  const cacheWrite1h = Math.min(countOrNone(write1h), written);
  return {
    input,
    cacheRead: countOrNone(cacheRead),
    cacheWrite: written - cacheWrite1h,
    cacheWrite1h,
  };
}

function outputFigures(value: JsonRecord): Partial<TokenUsage> | null {
  const thinking = tokenCount(record(value['output_tokens_details'])['thinking_tokens']);
  const output = sideCount(tokenCount(value['output_tokens']), thinking);
  return typeof output !== 'number'
    ? null
    : { output, reasoning: Math.min(countOrNone(thinking), output) };
}

/** Returns a stream's figures: those of message_start, overridden by every non-null field of each message_delta, which are cumulative (behaviour 11). */
export function mergeMessagesUsage(earlier: JsonRecord, later: unknown): JsonRecord {
  const given = Object.entries(record(later)).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  return { ...earlier, ...Object.fromEntries(given) };
}

import { NO_USAGE, type ReportedUsage } from '@tollgate/contracts';
import { isRecord, records, type JsonRecord } from '../../json/json-guard.ts';
import { countOrNone, sideCount, tokenCount } from '../token-count.ts';

/**
 * Reads the usage of Gemini in normal form: https://ai.google.dev/api/generate-content#UsageMetadata. The cached count lies inside the prompt; thoughts, and prompts that
 * tools of the provider made, lie beside the candidates and the prompt, unless the total shows that they lie inside. A side is not reported where its count is
 * missing and does not follow from the total, or a figure of it cannot be true; null where neither is.
 */
export function readGeminiUsage(value: unknown): ReportedUsage | null {
  if (!isRecord(value)) return null;
  const cached = tokenCount(value['cachedContentTokenCount']);
  const tools = tokenCount(value['toolUsePromptTokenCount']);
  const thoughts = tokenCount(value['thoughtsTokenCount']);
  const prompt = sideCount(tokenCount(value['promptTokenCount']), cached, tools);
  const candidates = sideCount(tokenCount(value['candidatesTokenCount']), thoughts);
  const total = tokenCount(value['totalTokenCount']);
  const beside = { thoughts: countOrNone(thoughts), tools: countOrNone(tools) };
  const read = typeof prompt === 'number' ? prompt : null;
  const made = madeOf({ candidates, read, total, ...beside });
  if (read === null && made === null) return null;
  const extra = besideOf({ read, made, total, ...beside });
  const unreported = read === null ? 'prompt' : made === null ? 'output' : null;
  return {
    ...NO_USAGE,
    ...(read !== null && promptClasses(value, read + extra.tools, countOrNone(cached))),
    ...(made !== null && outputClasses(value, made + extra.thoughts, beside.thoughts)),
    ...(unreported && { unreported }),
  };
}

interface Figures {
  read: number | null;
  thoughts: number;
  tools: number;
  total: ReturnType<typeof tokenCount>;
}

/** Candidates that are not counted follow from the total: there are none in the answer to a blocked prompt. */
function madeOf({
  candidates,
  read,
  total,
  thoughts,
  tools,
}: Figures & { candidates: ReturnType<typeof tokenCount> }): number | null {
  if (typeof candidates === 'number') return candidates;
  if (candidates !== null || read === null || typeof total !== 'number') return null;
  return Math.max(0, total - read - thoughts - tools);
}

/** Returns the parts that are to be added: both, unless the total equals a sum without one of them. */
function besideOf({
  read,
  made,
  total,
  thoughts,
  tools,
}: Figures & { made: number | null }): Pick<Figures, 'thoughts' | 'tools'> {
  const all = { thoughts, tools };
  if (read === null || made === null || typeof total !== 'number') return all;
  const ways = [all, { thoughts: 0, tools }, { thoughts, tools: 0 }, { thoughts: 0, tools: 0 }];
  return ways.find((way) => read + made + way.thoughts + way.tools === total) ?? all;
}

function promptClasses(value: JsonRecord, prompt: number, cached: number) {
  const cacheRead = Math.min(cached, prompt);
  const sent = (modality: Modality): number =>
    countOf(modality, value['promptTokensDetails']) +
    countOf(modality, value['toolUsePromptTokensDetails']) -
    countOf(modality, value['cacheTokensDetails']);
  const audioInput = upTo(prompt - cacheRead, sent('AUDIO'));
  const imageInput = upTo(prompt - cacheRead - audioInput, sent('IMAGE'));
  return {
    input: prompt - cacheRead - audioInput - imageInput,
    ...{ cacheRead, audioInput, imageInput },
  };
}

function outputClasses(value: JsonRecord, output: number, thoughts: number) {
  const details = value['candidatesTokensDetails'];
  const audioOutput = upTo(output, countOf('AUDIO', details));
  const imageOutput = upTo(output - audioOutput, countOf('IMAGE', details));
  const rest = output - audioOutput - imageOutput;
  return { output: rest, audioOutput, imageOutput, reasoning: Math.min(thoughts, rest) };
}

/** Modalities that are counted apart; video and documents are input. */
type Modality = 'AUDIO' | 'IMAGE';

function countOf(wanted: Modality, details: unknown): number {
  return records(details)
    .filter(({ modality }) => modality === wanted)
    .reduce((sum, { tokenCount: count }) => sum + countOrNone(tokenCount(count)), 0);
}

function upTo(limit: number, count: number): number {
  return Math.min(limit, Math.max(0, count));
}

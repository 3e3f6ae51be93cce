import { NO_USAGE, type ReportedUsage, type UsageSide } from '@tollgate/contracts';
import { isRecord, numberOf, record, text } from '../../json/json-guard.ts';
import type { JsonRecord } from '../../json/json-guard.ts';
import { reportedCalls } from '../reported-calls.ts';
import { ordinaryServices } from '../ordinary-services.ts';
import { countOrNone, sideCount, tokenCount, UNREADABLE, type TokenCount } from '../token-count.ts';

/**
 * Reads the usage of a chat-completions answer in normal form. Vendors differ on what their numbers contain, and change it; the arithmetic of the
 * numbers decides (docs/design/protocols.md#usage). A side is not reported where its count is missing, or one of its figures is negative, fractional
 * or no number. Returns null when neither side is reported. `answer` contains the usage.
 */
export function readChatUsage(value: unknown, answer: JsonRecord = {}): ReportedUsage | null {
  if (!isRecord(value)) return null;
  const figures = readFigures(value);
  if (!figures) return null;
  const { prompt, completion, unreported, cached, written } = figures;

  // Relays of Anthropic report cached tokens beside the prompt instead of inside it: subtracting them would give a negative count.
  const readInside = cached <= prompt ? cached : 0;
  const writtenInside = readInside + written <= prompt ? written : 0;
  const cacheBeside = cached - readInside + (written - writtenInside);
  const rest = restOf(figures, { cacheBeside, model: text(answer['model']) ?? '' });
  const input = prompt - readInside - writtenInside + rest.prompt;
  const output = completion + rest.output;
  // The counts are parts of the text's: cached tokens are not audio or image tokens, too.
  const audioInput = Math.min(figures.promptAudio, input);
  const imageInput = Math.min(figures.promptImages, input - audioInput);
  const audioOutput = Math.min(figures.completionAudio, output);
  const imageOutput = Math.min(figures.completionImages, output - audioOutput);
  const textOutput = output - audioOutput - imageOutput;
  const services = ordinaryServices(answer);
  return {
    ...NO_USAGE,
    input: input - audioInput - imageInput,
    cacheRead: cached,
    cacheWrite: written,
    output: textOutput,
    reasoning: Math.min(figures.reasoning, textOutput),
    ...{ audioInput, audioOutput, imageInput, imageOutput },
    ...reportedCalls({ usage: value, answer }),
    ...(unreported && { unreported }),
    ...(services && { services }),
  };
}

/** All counts of an unreported side are 0. */
interface Figures {
  prompt: number;
  completion: number;
  unreported: ReportedUsage['unreported'];
  /** Counts the tokens beyond prompt and completion; 0 where one of them is not reported. */
  rest: number;
  cached: number;
  written: number;
  reasoning: number;
  promptAudio: number;
  promptImages: number;
  completionAudio: number;
  completionImages: number;
}

function readFigures(usage: JsonRecord): Figures | null {
  const total = tokenCount(usage['total_tokens']);
  const given = { prompt: promptFigures(usage), completion: completionFigures(usage) };
  const prompt = countOf(given.prompt.count, given.completion.count, total);
  const completion = countOf(given.completion.count, given.prompt.count, total);
  if (prompt === null && completion === null) return null;
  const figures: Figures = {
    ...(prompt === null ? NO_PROMPT : given.prompt),
    ...(completion === null ? NO_COMPLETION : given.completion),
    prompt: prompt ?? 0,
    completion: completion ?? 0,
    unreported: prompt === null ? 'prompt' : completion === null ? 'output' : undefined,
    rest: prompt === null || completion === null ? 0 : countOrNone(total) - prompt - completion,
  };
  return typeof total === 'number' && isPromptWhole(figures, record(usage['prompt_tokens_details']))
    ? { ...figures, cached: 0 }
    : figures;
}

const NO_PROMPT = { cached: 0, written: 0, promptAudio: 0, promptImages: 0 };
const NO_COMPLETION = { reasoning: 0, completionAudio: 0, completionImages: 0 };

/** DeepSeek, Moonshot, Hugging Face, Mistral and LiteLLM have their own names for these figures. */
function promptFigures(
  usage: JsonRecord,
): Pick<Figures, 'cached' | 'written' | 'promptAudio' | 'promptImages'> & { count: TokenCount } {
  const details = record(usage['prompt_tokens_details']);
  const cached = tokenCount(
    details['cached_tokens'],
    usage['prompt_cache_hit_tokens'],
    usage['cached_tokens'],
    usage['num_cached_tokens'],
    usage['cache_read_input_tokens'],
  );
  const written = tokenCount(
    details['cache_write_tokens'],
    details['cache_creation_tokens'],
    usage['cache_creation_input_tokens'],
  );
  const audio = tokenCount(details['audio_tokens']);
  const images = tokenCount(details['image_tokens']);
  return {
    count: sideCount(tokenCount(usage['prompt_tokens']), cached, written, audio, images),
    cached: countOrNone(cached),
    written: countOrNone(written),
    promptAudio: countOrNone(audio),
    promptImages: countOrNone(images),
  };
}

function completionFigures(
  usage: JsonRecord,
): Pick<Figures, 'reasoning' | 'completionAudio' | 'completionImages'> & { count: TokenCount } {
  const details = record(usage['completion_tokens_details']);
  const reasoning = tokenCount(details['reasoning_tokens'], usage['reasoning_tokens']);
  const audio = tokenCount(details['audio_tokens']);
  const images = tokenCount(details['image_tokens']);
  return {
    count: sideCount(tokenCount(usage['completion_tokens']), reasoning, audio, images),
    reasoning: countOrNone(reasoning),
    completionAudio: countOrNone(audio),
    completionImages: countOrNone(images),
  };
}

/** Computes a missing side from the total and the other side, where the total is larger. */
function countOf(own: TokenCount, other: TokenCount, total: TokenCount): number | null {
  if (typeof own === 'number') return own;
  if (own === UNREADABLE || typeof other !== 'number' || typeof total !== 'number') return null;
  return total > other ? total - other : null;
}

interface RestFacts extends Figures {
  cacheBeside: number;
  model: string;
}

/**
 * Lists providers whose total contains more than prompt and completion, and what it contains. The first matching row applies; any other rest is not
 * charged.
 */
const RESTS: readonly {
  provider: string;
  isOf: (facts: RestFacts) => boolean;
  side: UsageSide | null;
}[] = [
  {
    provider: 'relays of Anthropic: the caches, which are charged as caches',
    isOf: ({ rest, cacheBeside }) => rest === cacheBeside,
    side: null,
  },
  {
    provider: 'Mistral: audio of the prompt',
    isOf: ({ rest, promptAudio, reasoning }) => rest === promptAudio && rest !== reasoning,
    side: 'prompt',
  },
  {
    provider: 'xAI: the reasoning that it names',
    isOf: ({ rest, reasoning }) => rest === reasoning,
    side: 'output',
  },
  {
    provider: "Gemini's compatible endpoint: thoughts that it does not name",
    isOf: ({ model }) => /gemini/i.test(model),
    side: 'output',
  },
];

function restOf(
  figures: Figures,
  by: Pick<RestFacts, 'cacheBeside' | 'model'>,
): Record<UsageSide, number> {
  const known =
    figures.rest > 0 ? RESTS.find(({ isOf }) => isOf({ ...figures, ...by })) : undefined;
  return {
    prompt: known?.side === 'prompt' ? figures.rest : 0,
    output: known?.side === 'output' ? figures.rest : 0,
  };
}

/** Lists the kinds of prompt tokens. */
const KINDS = ['text_tokens', 'image_tokens', 'audio_tokens'];

/**
 * Returns whether more is cached than the prompt has, while the prompt is said to be all there was: its kinds add up to it, and the total has nothing more.
 * Azure's Grok caches a template of its own in front of the prompt; how much of the prompt was cached is not said (docs/decisions/0025-caches-of-templates.md).
 */
function isPromptWhole({ prompt, rest, cached }: Figures, details: JsonRecord): boolean {
  if (cached <= prompt || rest >= cached) return false;
  return KINDS.reduce((sum, kind) => sum + numberOf(details[kind] ?? 0), 0) === prompt;
}

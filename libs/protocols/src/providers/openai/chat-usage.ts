import { NO_USAGE, type TokenUsage } from '@tollgate/contracts';
import { isRecord, numberOf, record } from '../../json/json-guard.ts';
import type { JsonRecord } from '../../json/json-guard.ts';
import { tokenCount, UNREADABLE } from '../token-count.ts';

/**
 * Usage of a chat-completions answer in normal form. Vendors differ on what their numbers contain, and change it; the arithmetic of the
 * numbers decides, never a vendor's name (docs/design/protocols.md#usage). Null when there is none, or when any figure is negative, fractional or no number:
 * such a report is not trusted at all.
 */
export function readChatUsage(value: unknown): TokenUsage | null {
  if (!isRecord(value)) return null;
  const figures = readFigures(value);
  if (!figures) return null;
  const { prompt, completion, total, cached, written, reasoning, promptAudio, completionAudio } =
    figures;

  // Some report cached tokens beside the prompt instead of inside it (relays of Anthropic): subtracting them would go negative.
  const readInside = cached <= prompt ? cached : 0;
  const writtenInside = readInside + written <= prompt ? written : 0;
  const cacheBeside = cached - readInside + (written - writtenInside);
  let input = prompt - readInside - writtenInside;
  let output = completion;

  const unexplained = total === null ? 0 : total - prompt - completion;
  if (unexplained > 0 && unexplained !== cacheBeside) {
    // Mistral counts audio of the prompt in the total only.
    if (unexplained === promptAudio && unexplained !== reasoning) input += unexplained;
    // xAI leaves reasoning out of completion_tokens; Gemini's compatible endpoint leaves out thoughts without naming them.
    else output += unexplained;
  }
  // Both counts are part of the text's: what a cache gave or took is not audio too.
  const audioInput = Math.min(promptAudio, input);
  const audioOutput = Math.min(completionAudio, output);
  output -= audioOutput;
  return {
    ...NO_USAGE,
    input: input - audioInput,
    cacheRead: cached,
    cacheWrite: written,
    output,
    reasoning: Math.min(reasoning, output),
    audioInput,
    audioOutput,
  };
}

interface Figures {
  prompt: number;
  completion: number;
  total: number | null;
  cached: number;
  written: number;
  reasoning: number;
  promptAudio: number;
  completionAudio: number;
}

function readFigures(usage: JsonRecord): Figures | null {
  const promptDetails = record(usage['prompt_tokens_details']);
  const completionDetails = record(usage['completion_tokens_details']);
  const prompt = tokenCount(usage['prompt_tokens']);
  const completion = tokenCount(usage['completion_tokens']);
  const total = tokenCount(usage['total_tokens']);
  // DeepSeek, Moonshot and Hugging Face, Mistral and LiteLLM have names of their own.
  const cached = tokenCount(
    promptDetails['cached_tokens'],
    usage['prompt_cache_hit_tokens'],
    usage['cached_tokens'],
    usage['num_cached_tokens'],
    usage['cache_read_input_tokens'],
  );
  const written = tokenCount(
    promptDetails['cache_write_tokens'],
    promptDetails['cache_creation_tokens'],
    usage['cache_creation_input_tokens'],
  );
  const reasoning = tokenCount(completionDetails['reasoning_tokens'], usage['reasoning_tokens']);
  const promptAudio = tokenCount(promptDetails['audio_tokens']);
  const completionAudio = tokenCount(completionDetails['audio_tokens']);
  if (prompt === UNREADABLE || completion === UNREADABLE || total === UNREADABLE) return null;
  if (cached === UNREADABLE || written === UNREADABLE || reasoning === UNREADABLE) return null;
  if (promptAudio === UNREADABLE || completionAudio === UNREADABLE) return null;
  if (prompt === null && completion === null && total === null) return null;
  const figures = {
    prompt: prompt ?? Math.max(0, (total ?? 0) - (completion ?? 0)),
    completion: completion ?? 0,
    total,
    cached: cached ?? 0,
    written: written ?? 0,
    reasoning: reasoning ?? 0,
    promptAudio: promptAudio ?? 0,
    completionAudio: completionAudio ?? 0,
  };
  return isPromptWhole(figures, promptDetails) ? { ...figures, cached: 0 } : figures;
}

/** Kinds of a prompt's tokens. */
const KINDS = ['text_tokens', 'image_tokens', 'audio_tokens'];

/**
 * Whether more is cached than the prompt has, while the prompt is said to be all there was: its kinds add up to it, and the total has nothing more.
 * Azure's Grok caches a template of its own in front of the prompt; how much of the prompt was cached is not said (docs/decisions/0025-caches-of-templates.md).
 */
function isPromptWhole(
  { prompt, completion, total, cached }: Figures,
  details: JsonRecord,
): boolean {
  if (cached <= prompt || total === null || total - prompt - completion >= cached) return false;
  return KINDS.reduce((sum, kind) => sum + numberOf(details[kind] ?? 0), 0) === prompt;
}

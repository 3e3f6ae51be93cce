import { isDone, looseJson, textEvents, type Loose } from './event-text.ts';
import type { Recording } from './recordings.ts';

/** Holds usage in normal form: input without caches, output with reasoning inside. */
export interface NormalUsage {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
  reasoning: number;
  cacheWrite1h: number;
  audioInput: number;
  audioOutput: number;
  imageInput: number;
  imageOutput: number;
}

/** Returns what must be booked for a recording, by the arithmetic of the protocol notes, written here a second time. It returns null when it reports no usage. */
export function expectedUsage(recording: Recording): NormalUsage | null {
  const usage = recording.indexedUsage ?? recordedUsage(recording);
  return normalUsage(recording.protocol === 'messages' ? 'messages' : 'chat', usage);
}

export function normalUsage(protocol: 'chat' | 'messages', usage: Loose): NormalUsage | null {
  if (typeof usage !== 'object' || usage === null) return null;
  return protocol === 'messages' ? ofMessages(usage) : ofChat(usage);
}

/** Compactions and advisors are billed beside the figures at the top. */
function ofMessages(usage: Loose): NormalUsage | null {
  const further = (usage.iterations ?? []).filter(({ type }: Loose) => type !== 'message');
  return [usage, ...further].map(ofRound).reduce((sum, round) => sum && round && added(sum, round));
}

function added(one: NormalUsage, other: NormalUsage): NormalUsage {
  const names = Object.keys(one) as (keyof NormalUsage)[];
  return Object.fromEntries(
    names.map((name) => [name, one[name] + other[name]]),
  ) as unknown as NormalUsage;
}

function ofRound(usage: Loose): NormalUsage | null {
  if (usage.input_tokens === undefined && usage.output_tokens === undefined) return null;
  const output = usage.output_tokens ?? 0;
  const writes = usage.cache_creation ?? {};
  const hour = writes.ephemeral_1h_input_tokens ?? 0;
  const written =
    usage.cache_creation_input_tokens ?? (writes.ephemeral_5m_input_tokens ?? 0) + hour;
  return {
    input: usage.input_tokens ?? 0,
    cacheRead: usage.cache_read_input_tokens ?? 0,
    cacheWrite: Math.max(0, written - hour),
    cacheWrite1h: Math.min(written, hour),
    audioInput: 0,
    audioOutput: 0,
    imageInput: 0,
    imageOutput: 0,
    output,
    reasoning: Math.min(output, usage.output_tokens_details?.thinking_tokens ?? 0),
  };
}

function ofChat(usage: Loose): NormalUsage | null {
  const { prompt_tokens: p, completion_tokens: c = 0, total_tokens: t } = usage;
  if (p === undefined && usage.completion_tokens === undefined && t === undefined) return null;
  const prompt = p ?? Math.max(0, t - c);
  const reported =
    usage.prompt_tokens_details?.cached_tokens ??
    usage.prompt_cache_hit_tokens ??
    usage.cached_tokens ??
    usage.num_cached_tokens ??
    0;
  const { text_tokens: text, image_tokens: image = 0 } = usage.prompt_tokens_details ?? {};
  const isOfTemplate = reported > prompt && text + image === prompt && t === prompt + c;
  const cached = isOfTemplate ? 0 : reported;
  const written = usage.prompt_tokens_details?.cache_write_tokens ?? 0;
  const audio = usage.prompt_tokens_details?.audio_tokens ?? 0;
  const reasoning =
    usage.completion_tokens_details?.reasoning_tokens ?? usage.reasoning_tokens ?? 0;
  let input = cached > prompt ? prompt : prompt - cached - written;
  let output = c;
  const rest = t === undefined || t === null ? 0 : t - prompt - c;
  const isCacheBeside = cached > prompt && rest === cached;
  if (rest > 0 && !isCacheBeside) {
    if (rest !== reasoning && rest === audio) input += rest;
    else output += rest;
  }
  const audioInput = Math.min(audio, input);
  const audioOutput = Math.min(usage.completion_tokens_details?.audio_tokens ?? 0, output);
  const imageInput = Math.min(image, input - audioInput);
  const imagesMade = usage.completion_tokens_details?.image_tokens ?? 0;
  const imageOutput = Math.min(imagesMade, output - audioOutput);
  return {
    input: input - audioInput - imageInput,
    cacheRead: cached,
    cacheWrite: written,
    output: output - audioOutput - imageOutput,
    reasoning: Math.min(reasoning, output - audioOutput - imageOutput),
    cacheWrite1h: 0,
    audioInput,
    audioOutput,
    imageInput,
    imageOutput,
  };
}

/** Returns the usage object of an answer: a stream's last one, and for messages all of them merged. */
function recordedUsage({ protocol, isStream, body }: Recording): Loose {
  const text = body.toString('utf8');
  if (!isStream) return looseJson(text)?.usage ?? null;
  const events = textEvents(text)
    .filter((event) => !isDone(event))
    .map(({ data }) => looseJson(data) ?? {});
  return protocol === 'messages' ? mergedUsage(events) : lastUsage(events);
}

function lastUsage(chunks: readonly Loose[]): Loose {
  return (
    chunks
      .map(
        (chunk) =>
          chunk.usage ??
          chunk.x_groq?.usage ??
          (chunk.choices ?? []).find((choice: Loose) => choice.usage)?.usage,
      )
      .findLast((usage) => usage) ?? null
  );
}

function mergedUsage(events: readonly Loose[]): Loose {
  const reports = events.flatMap((event) =>
    event.type === 'message_start'
      ? [event.message?.usage]
      : event.type === 'message_delta'
        ? [event.usage]
        : [],
  );
  const given = reports
    .flatMap((usage) => Object.entries(usage ?? {}))
    .filter(([, value]) => value !== null);
  return given.length === 0 ? null : Object.fromEntries(given);
}

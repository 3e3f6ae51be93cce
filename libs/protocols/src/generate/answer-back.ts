import { outputTokensOf, promptTokensOf, type TokenUsage } from '@tollgate/contracts';
import { toThoughtSignature } from '../generate-request/thought-signature.ts';
import { nonEmpty, parseJson, record, records, text, type JsonRecord } from '../json/json-guard.ts';

/** Holds the members that every piece of an answer repeats. */
export interface AnswerHead {
  readonly modelVersion: string;
  readonly responseId: string;
}

/** Writes usage as a client of Gemini expects it: cached tokens inside the prompt, thoughts beside the candidates. https://ai.google.dev/api/generate-content#UsageMetadata */
function toUsageMetadata(usage: TokenUsage): JsonRecord {
  const prompt = promptTokensOf(usage);
  const output = outputTokensOf(usage);
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: output - usage.reasoning,
    totalTokenCount: prompt + output,
    ...(usage.cacheRead > 0 && { cachedContentTokenCount: usage.cacheRead }),
    ...(usage.reasoning > 0 && { thoughtsTokenCount: usage.reasoning }),
  };
}

/** See https://ai.google.dev/api/generate-content#FinishReason */
const REASONS: Readonly<Record<string, string>> = {
  length: 'MAX_TOKENS',
  content_filter: 'SAFETY',
};

export function finishReasonOf(reason: string | null): string {
  return REASONS[reason ?? ''] ?? 'STOP';
}

/** Writes a whole answer, or a piece of one. */
export function answerOf(
  { modelVersion, responseId }: AnswerHead,
  { parts, finish, usage }: { parts: readonly JsonRecord[]; finish?: string; usage?: TokenUsage },
): JsonRecord {
  return {
    candidates: [
      {
        content: { role: 'model', parts },
        ...(finish === undefined ? {} : { finishReason: finish }),
        index: 0,
      },
    ],
    ...(usage && { usageMetadata: toUsageMetadata(usage) }),
    modelVersion,
    responseId,
  };
}

/** Converts a message of a completion to parts: thoughts, then the text, then the calls. */
export function partsOfMessage(message: JsonRecord): JsonRecord[] {
  return [
    ...thoughtsOf(message),
    ...saidIn(message['content']),
    ...saidIn(message['refusal']),
    ...records(message['tool_calls']).map(callPart),
  ];
}

export function callPart({ id, function: called }: JsonRecord): JsonRecord {
  const { name, arguments: args } = record(called);
  return {
    functionCall: {
      ...(nonEmpty(id) === null ? {} : { id }),
      name: text(name) ?? '',
      args: record(parseJson(text(args) ?? '')),
    },
  };
}

/** Thinking that its provider signed returns with its signature; other is shown and not read again. */
export function thoughtsOf(message: JsonRecord): JsonRecord[] {
  const signed = records(message['thinking_blocks']).flatMap(({ type, thinking, signature }) => {
    const own = type === 'thinking' ? nonEmpty(signature) : null;
    if (own === null) return [];
    return [
      { text: text(thinking) ?? '', thought: true, thoughtSignature: toThoughtSignature(own) },
    ];
  });
  if (signed.length > 0) return signed;
  const words = nonEmpty(message['reasoning_content']) ?? nonEmpty(message['reasoning']);
  return words === null ? [] : [{ text: words, thought: true }];
}

function saidIn(value: unknown): JsonRecord[] {
  const words = nonEmpty(value);
  return words === null ? [] : [{ text: words }];
}

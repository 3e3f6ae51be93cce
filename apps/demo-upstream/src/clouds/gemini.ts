import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { usageOf, type Dialect, type Exchange } from '../answer.ts';
import { jsonOf, vectorCall, type VectorCall } from './google-vectors.ts';
import { limitOf, parseDemoRequest, type DemoRequest } from '../plan.ts';

const METHOD =
  /^\/v1beta\/models\/([^/:]+):(generateContent|streamGenerateContent|batchEmbedContents)$/;

const partSchema = z.looseObject({
  text: z.string().optional(),
  functionCall: z.looseObject({ name: z.string() }).optional(),
  functionResponse: z.looseObject({ name: z.string(), response: z.unknown() }).optional(),
  thoughtSignature: z.string().optional(),
});
const bodySchema = z.looseObject({
  contents: z.array(z.looseObject({ role: z.string(), parts: z.array(partSchema) })),
  systemInstruction: z.looseObject({ parts: z.array(partSchema) }).optional(),
  tools: z
    .array(z.looseObject({ functionDeclarations: z.array(z.looseObject({ name: z.string() })) }))
    .optional(),
  generationConfig: z.looseObject({ maxOutputTokens: z.number().int().optional() }).optional(),
});

/** Describes a call of Gemini's interface: its request in the demo's words, or the status and the body of a refusal. It is null for a path that is not Gemini's. */
export type GeminiCall =
  | VectorCall
  | { readonly read: (text: string | undefined) => DemoRequest | undefined }
  | { readonly status: number; readonly refusal: unknown };

/** Is the signature of the calls that this double makes. A call without it is refused; a client may write its bytes in either alphabet of base64. */
const SIGNATURE = 'c2lnbmVkIGJ5IHRoZSBkZW1v+/8=';

export function geminiCall(request: IncomingMessage, url: URL): GeminiCall | null {
  const [, model, method] = METHOD.exec(url.pathname) ?? [];
  if (model === undefined) return null;
  if (typeof request.headers['x-goog-api-key'] !== 'string')
    return { status: 403, refusal: geminiError(403, 'PERMISSION_DENIED', 'no key') };
  const vectors = vectorCall(decodeURIComponent(model), method ?? '');
  if (vectors) return vectors;
  const isStream = method === 'streamGenerateContent';
  if (isStream && url.searchParams.get('alt') !== 'sse')
    return { status: 400, refusal: geminiError(400, 'INVALID_ARGUMENT', 'alt=sse is expected') };
  return { read: (text) => demoRequest(text, { model: decodeURIComponent(model), isStream }) };
}

export function demoRequest(
  text: string | undefined,
  { model, isStream }: { model: string; isStream: boolean },
): DemoRequest | undefined {
  const parsed = bodySchema.safeParse(jsonOf(text));
  if (!parsed.success) return undefined;
  const { contents, systemInstruction, tools, generationConfig } = parsed.data;
  const calls = contents.flatMap(({ parts }) => parts).filter(({ functionCall }) => functionCall);
  const standard = (text = ''): string => Buffer.from(text, 'base64').toString('base64');
  if (calls.some(({ thoughtSignature }) => standard(thoughtSignature) !== SIGNATURE))
    return undefined;
  const messages = contents.map(({ role, parts }) => ({
    role: parts.some(({ functionResponse }) => functionResponse)
      ? 'tool'
      : role === 'model'
        ? 'assistant'
        : 'user',
    content: parts.map((part) => part.text ?? JSON.stringify(part)).join(''),
  }));
  return parseDemoRequest(
    JSON.stringify({
      model,
      stream: isStream,
      messages,
      system: systemInstruction?.parts.map((part) => part.text).join('') ?? '',
      max_tokens: generationConfig?.maxOutputTokens,
      ...(tools && { tools: tools.flatMap(({ functionDeclarations }) => functionDeclarations) }),
    }),
  );
}

/** Speaks generateContent as Google AI answers it: cumulative usage, and the reason to stop, in the last event. */
export const geminiDialect: Dialect = {
  report: 'gemini',
  json: (exchange, text) => ({
    ...answer(
      exchange,
      [...thoughts(exchange), { text }, ...calls(exchange)],
      finishReason(exchange),
    ),
    ...usage(exchange),
  }),
  start: () => '',
  token: (exchange, word) => event(answer(exchange, [{ text: word }])),
  thinking: (exchange, text) => event(answer(exchange, [{ text, thought: true }])),
  toolCall: (exchange) => event(answer(exchange, calls(exchange))),
  finish: (exchange) =>
    event({ ...answer(exchange, [{ text: '' }], finishReason(exchange)), ...usage(exchange) }),
  error: (status, message) =>
    geminiError(status, status === 429 ? 'RESOURCE_EXHAUSTED' : 'INTERNAL', message),
  errorEvent: (message) => event(geminiError(500, 'INTERNAL', message)),
};

function thoughts({ plan }: Exchange): object[] {
  return plan.mode === 'thinking' ? [{ text: 'let me count', thought: true }] : [];
}

function calls({ plan }: Exchange): object[] {
  if (plan.mode !== 'tools') return [];
  const { name, input } = plan.call;
  return [{ functionCall: { name, args: input }, thoughtSignature: SIGNATURE }];
}

function finishReason({ plan, request, entry }: Exchange): string {
  const limit = limitOf(request);
  return plan.mode !== 'tools' && limit !== null && entry.emitted >= limit ? 'MAX_TOKENS' : 'STOP';
}

function answer(exchange: Exchange, parts: object[], finish?: string): object {
  const content = { role: 'model', parts };
  return {
    candidates: [{ index: 0, content, ...(finish !== undefined && { finishReason: finish }) }],
    modelVersion: exchange.request.model,
    responseId: exchange.entry.rid,
  };
}

function usage(exchange: Exchange): object {
  if (exchange.plan.mode === 'no-usage') return {};
  const { prompt, output, classes } = usageOf(exchange);
  const made = {
    thoughts: classes?.reasoning_tokens ?? 0,
    heard: classes?.audio_output_tokens ?? 0,
  };
  return {
    usageMetadata: {
      promptTokenCount: prompt,
      candidatesTokenCount: output - made.thoughts,
      ...(classes && { thoughtsTokenCount: made.thoughts }),
      ...(classes && { cachedContentTokenCount: classes.cache_read_tokens }),
      totalTokenCount: prompt + output,
      ...(classes && {
        promptTokensDetails: [
          { modality: 'AUDIO', tokenCount: classes.audio_input_tokens },
          { modality: 'IMAGE', tokenCount: classes.image_input_tokens },
        ],
        candidatesTokensDetails: [
          { modality: 'AUDIO', tokenCount: made.heard },
          { modality: 'IMAGE', tokenCount: classes.image_output_tokens },
        ],
      }),
    },
  };
}

export function geminiError(code: number, status: string, message: string): object {
  return { error: { code, message, status } };
}

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

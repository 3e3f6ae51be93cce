import { z } from 'zod';
import type { ClientProtocol } from '../exchange.ts';

/**
 * The schemas check what the gateway itself must be sure of in a request. Everything else passes as it came: unknown fields, parts, tools and betas are the
 * upstream's to judge (docs/design/protocols.md#requests). Optional fields may be null, as both vendors allow.
 */
const STOPS_MAX = 256;

const temperature = z.number().min(0).max(2).nullish();
const topP = z.number().min(0).max(1).nullish();
const penalty = z.number().nullish();
const anyList = z.array(z.unknown()).nullish();
const anyRecord = z.looseObject({}).nullish();
/** Returns an array schema that stops at the first wrong item: zod alone would describe every one of a million, in gigabytes. */
function listOf(item: z.ZodType) {
  return z.array(z.unknown()).superRefine((items, context) => {
    for (const [index, value] of items.entries()) {
      const { error } = item.safeParse(value);
      for (const { path, ...issue } of error?.issues ?? [])
        context.issues.push(Object.assign(issue, { path: [index, ...path], input: undefined }));
      if (error) return;
    }
  });
}

/** Some tool runners send a lone object as a result; it is read as its JSON text. */
const content = z.union([
  z.string(),
  listOf(z.union([z.string(), z.looseObject({ type: z.string() })])),
  z.looseObject({}),
]);
const model = z.string().min(1).max(256);

const chatRequestSchema = z.looseObject({
  model,
  messages: listOf(
    z.looseObject({ role: z.string(), content: content.nullish(), tool_calls: anyList }),
  ).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  temperature,
  top_p: topP,
  presence_penalty: penalty,
  frequency_penalty: penalty,
  stop: z.union([z.string(), z.array(z.string()).max(STOPS_MAX)]).nullish(),
  tools: anyList,
  response_format: anyRecord,
});

export const countTokensSchema = z.looseObject({
  model,
  messages: listOf(z.looseObject({ role: z.string(), content: content })).min(1),
  system: z.union([z.string(), listOf(z.looseObject({ type: z.string() }))]).nullish(),
  tools: anyList,
});

const messagesRequestSchema = countTokensSchema.extend({
  /** 0 warms the cache without generating (docs/design/protocols.md#requests). */
  max_tokens: z.int().min(0),
  stream: z.boolean().nullish(),
  temperature,
  top_p: topP,
  top_k: z.int().min(0).nullish(),
  stop_sequences: z.array(z.string()).max(STOPS_MAX).nullish(),
  metadata: anyRecord,
  thinking: anyRecord,
});

export const responsesRequestSchema = z.looseObject({
  model,
  input: z.union([z.string(), listOf(z.looseObject({}))]),
  instructions: z.string().nullish(),
  stream: z.boolean().nullish(),
  temperature,
  top_p: topP,
  tools: anyList,
  reasoning: anyRecord,
  text: anyRecord,
});

const tokens = z
  .array(z.unknown())
  .min(1)
  .superRefine((items, context) => {
    const wrong = items.findIndex((item) => !Number.isSafeInteger(item) || Number(item) < 0);
    if (wrong >= 0)
      context.addIssue({
        code: 'custom',
        message: 'Invalid input: expected a token',
        path: [wrong],
        // Zod takes a union member that could continue for the intended one.
        continue: false,
      });
  });
const texts = z.union([z.string(), listOf(z.string()).min(1), tokens, listOf(tokens).min(1)]);

const completionsRequestSchema = z.looseObject({
  model,
  prompt: texts,
  suffix: z.string().nullish(),
  echo: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  temperature,
  top_p: topP,
  presence_penalty: penalty,
  frequency_penalty: penalty,
  stop: z.union([z.string(), z.array(z.string()).max(STOPS_MAX)]).nullish(),
});

/** OpenAI refuses an empty text, alone and in a list (API reference, create embeddings). */
const notEmpty = z.string().min(1, 'The text is empty; send at least one character.');

const embeddingsRequestSchema = z.looseObject({
  model,
  input: z.union([notEmpty, listOf(notEmpty).min(1), tokens, listOf(tokens).min(1)], {
    error:
      'Send a text, a list of texts, a list of tokens or a list of such lists, none of them empty.',
  }),
  dimensions: z.int().min(1).nullish(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
});

export const SCHEMAS = {
  chat: chatRequestSchema,
  messages: messagesRequestSchema,
  embeddings: embeddingsRequestSchema,
  responses: responsesRequestSchema,
  completions: completionsRequestSchema,
  generate: chatRequestSchema,
  embed: embeddingsRequestSchema,
} satisfies Record<ClientProtocol, z.ZodType>;

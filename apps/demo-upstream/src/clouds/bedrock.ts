import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { usageOf, type Dialect, type Exchange } from '../answer.ts';
import { awsEvent, awsException } from './aws-frames.ts';
import { isSigned } from './aws-verify.ts';
import { messagesDialect } from '../messages-dialect.ts';
import { limitOf, parseDemoRequest, type DemoRequest } from '../plan.ts';

const PATH = /^\/model\/([^/]+)\/(converse|converse-stream|invoke|invoke-with-response-stream)$/;

/** AWS's own examples use this credential. */
const ACCESS_KEY = 'AKIDEXAMPLE';
const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';

const blockSchema = z.looseObject({
  text: z.string().optional(),
  toolUse: z.looseObject({ toolUseId: z.string(), name: z.string() }).optional(),
  toolResult: z.looseObject({ toolUseId: z.string() }).optional(),
});
const converseSchema = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string(), content: z.array(blockSchema).min(1) })),
  system: z.array(blockSchema).optional(),
  inferenceConfig: z.looseObject({ maxTokens: z.number().int().optional() }).optional(),
  toolConfig: z
    .looseObject({
      tools: z.array(z.looseObject({ toolSpec: z.looseObject({ name: z.string() }).optional() })),
    })
    .optional(),
});

/** Matches Claude's own body: the version is inside, model and stream are outside. */
const invokeSchema = z.looseObject({
  anthropic_version: z.literal('bedrock-2023-05-31'),
  model: z.undefined().optional(),
  stream: z.undefined().optional(),
});

/** Describes a call of a cloud with its own interface: its dialect, its request in the demo's form, and the refusal of a wrong signature or token. */
export interface CloudCall {
  readonly protocol: 'chat' | 'messages';
  readonly dialect: Dialect;
  readonly refusal: (body: string) => { readonly status: number; readonly body: unknown } | null;
  readonly read: (body: string) => DemoRequest | undefined;
}

/** Returns null for a path that is not Bedrock's. */
export function bedrockCall(request: IncomingMessage, url: URL): CloudCall | null {
  const [, model, action = ''] = PATH.exec(url.pathname) ?? [];
  if (model === undefined) return null;
  const facts = { model: decodeURIComponent(model), isStream: action.endsWith('stream') };
  const isConverse = action.startsWith('converse');
  return {
    protocol: 'messages',
    dialect: isConverse ? converseDialect : claudeDialect,
    refusal: (body) =>
      isAllowed(request, body)
        ? null
        : { status: 403, body: { message: 'The request signature does not match.' } },
    read: (body) => (isConverse ? readConverse(body, facts) : readInvoke(body, facts)),
  };
}

function isAllowed({ method = '', url: target = '', headers }: IncomingMessage, body: string) {
  const authorization = headers.authorization ?? '';
  if (/^Bearer \S+$/.test(authorization)) return true;
  const isKnown = authorization.includes(`Credential=${ACCESS_KEY}/`);
  return isKnown && isSigned({ method, target, headers, body }, SECRET);
}

interface Facts {
  model: string;
  isStream: boolean;
}

function readInvoke(body: string, { model, isStream }: Facts): DemoRequest | undefined {
  const parsed = invokeSchema.safeParse(jsonOf(body));
  if (!parsed.success) return undefined;
  return parseDemoRequest(JSON.stringify({ ...parsed.data, model, stream: isStream }));
}

function readConverse(body: string, { model, isStream }: Facts): DemoRequest | undefined {
  const parsed = converseSchema.safeParse(jsonOf(body));
  if (!parsed.success) return undefined;
  const { messages, system = [], inferenceConfig, toolConfig } = parsed.data;
  const tools = toolConfig?.tools.flatMap(({ toolSpec }) => toolSpec ?? []);
  return parseDemoRequest(
    JSON.stringify({
      model,
      stream: isStream,
      messages: messages.map(({ role, content }) => ({
        role: content.some(({ toolResult }) => toolResult) ? 'tool' : role,
        content: content.map((block) => block.text ?? JSON.stringify(block)).join(''),
      })),
      system: system.map(({ text = '' }) => text).join(''),
      max_tokens: inferenceConfig?.maxTokens,
      ...(tools && { tools }),
    }),
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Frames the data of each event of a text of server-sent events. */
function framed(text: string, frame: (data: Record<string, unknown>) => Buffer): Buffer {
  const events = text.split('\n\n').filter((event) => event !== '');
  return Buffer.concat(
    events.map((event) => {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data === undefined) return Buffer.alloc(0);
      const value = jsonOf(data);
      if (typeof value !== 'object' || value === null) return Buffer.from(event);
      return 'error' in value
        ? awsException('internalServerException', 'the model failed')
        : frame({ ...value });
    }),
  );
}

const STREAM_TYPE = 'application/vnd.amazon.eventstream';

/** Writes InvokeModel: Claude's events, each in a chunk. */
const claudeDialect: Dialect = {
  ...messagesDialect,
  error: (_, message) => ({ message }),
  streamType: STREAM_TYPE,
  frame: (text) =>
    framed(text, (event) =>
      awsEvent('chunk', { bytes: Buffer.from(JSON.stringify(event)).toString('base64') }),
    ),
};

/** Writes Converse: usage comes after the end, and excludes the cache. */
const converseDialect: Dialect = {
  report: 'converse',
  json: (exchange, text) => ({
    output: {
      message: {
        role: 'assistant',
        content: [
          ...(exchange.plan.mode === 'thinking' ? [{ reasoningContent: THOUGHT }] : []),
          { text },
          ...(exchange.plan.mode === 'tools' ? [{ toolUse: toolUseOf(exchange) }] : []),
        ],
      },
    },
    stopReason: stopReason(exchange),
    ...usage(exchange),
  }),
  start: () => event('messageStart', { role: 'assistant' }),
  token: (exchange, word) => delta(exchange.plan.mode === 'thinking' ? 1 : 0, { text: word }),
  thinking: (_, text) =>
    delta(0, { reasoningContent: { text } }) +
    delta(0, { reasoningContent: { signature: THOUGHT.reasoningText.signature } }) +
    event('contentBlockStop', { contentBlockIndex: 0 }),
  toolCall: (exchange) => {
    const { input, ...toolUse } = toolUseOf(exchange);
    return (
      event('contentBlockStop', { contentBlockIndex: 0 }) +
      event('contentBlockStart', { contentBlockIndex: 1, start: { toolUse } }) +
      delta(1, { toolUse: { input: JSON.stringify(input) } }) +
      event('contentBlockStop', { contentBlockIndex: 1 })
    );
  },
  finish: (exchange) =>
    event('messageStop', { stopReason: stopReason(exchange) }) +
    event('metadata', { ...usage(exchange), metrics: { latencyMs: 1 } }),
  error: (_, message) => ({ message }),
  errorEvent: (message) => `data: ${JSON.stringify({ error: message })}\n\n`,
  streamType: STREAM_TYPE,
  frame: (text) =>
    framed(text, (value) =>
      Buffer.concat(Object.entries(value).map(([type, payload]) => awsEvent(type, payload))),
    ),
};

const THOUGHT = {
  reasoningText: { text: 'let me count', signature: 'ZGVtby1zaWduYXR1cmU=' },
};

function toolUseOf({ plan: { call }, entry }: Exchange) {
  return { toolUseId: `tooluse_${entry.rid.slice(-12)}`, ...call };
}

function stopReason({ plan, request, entry }: Exchange): string {
  if (plan.mode === 'tools') return 'tool_use';
  const limit = limitOf(request);
  return limit !== null && entry.emitted >= limit ? 'max_tokens' : 'end_turn';
}

function usage(exchange: Exchange): object {
  if (exchange.plan.mode === 'no-usage') return {};
  const { prompt, output, classes } = usageOf(exchange);
  const { cache_write_tokens: short = 0, cache_write_1h_tokens: hour = 0 } = classes ?? {};
  return {
    usage: {
      inputTokens: classes?.input_tokens ?? prompt,
      outputTokens: output,
      totalTokens: prompt + output,
      cacheReadInputTokens: classes?.cache_read_tokens ?? 0,
      cacheWriteInputTokens: short + hour,
      cacheDetails: [
        { ttl: '5m', inputTokens: short },
        { ttl: '1h', inputTokens: hour },
      ],
    },
  };
}

function delta(contentBlockIndex: number, value: object): string {
  return event('contentBlockDelta', { contentBlockIndex, delta: value });
}

function event(type: string, value: object): string {
  return `data: ${JSON.stringify({ [type]: value })}\n\n`;
}

import { z } from 'zod';
import { textOf } from './text-of.ts';
import { wordsUpTo } from './words.ts';

/** Says how the demo upstream behaves for one request. It is chosen, later wins, by the model name (`demo-slow`, `anything:dies`), the header `x-demo-mode`, and the last directive in a user text (`@demo mode=stalls tokens=40 delay=5`), so that tests can steer it through a node that forwards no client header. The modes on `-first` act before any content: `stalls-first` before the head of the answer, `stalls-start` after it. `reset-reused` cuts every request but the first of a connection. `overflow` answers that the prompt is too long, `429-bare` 429 without Retry-After. In the background, `hidden` generates `rate=` tokens a second and shows none before its end, `cancel-usage` reports its usage when it is cancelled (a moment later), and `forgets` never ends, and keeps no events of what was cancelled; any other mode reports no usage then, and keeps them. `reworded` says the words in their reverse order. `text=` (base64url) is the answer itself, in pieces of four characters that count as its tokens. `agent` calls one offered tool (`tool=`, else the first; `args=` is JSON in base64url) and answers in words once a tool result follows the directive. */
export const MODES = [
  'ok',
  'slow',
  'stalls',
  'stalls-first',
  'stalls-start',
  'dies',
  'dies-first',
  'reset-reused',
  'eof',
  'eof-first',
  'empty',
  '400',
  '401',
  '403',
  '404',
  '408',
  '409',
  '425',
  '429',
  '429-bare',
  '500',
  '502',
  '503',
  '529',
  'no-usage',
  'garbage',
  'garbage-first',
  'huge-line',
  'html',
  'error-200',
  'error-first',
  'overflow',
  'error-mid',
  'tools',
  'agent',
  'thinking',
  'overlong',
  'absurd-usage',
  'hidden',
  'cancel-usage',
  'forgets',
  'reworded',
] as const;
export type Mode = (typeof MODES)[number];

export interface Plan {
  mode: Mode;
  /** Is the number of output tokens to generate. */
  tokens: number;
  /** Holds the texts of the tokens, instead of the demo's words. */
  pieces: readonly string[] | null;
  /** Is the pause before each output token, in ms. */
  delayMs: number;
  /** Counts the tokens between two pauses of a background response. */
  step: number;
  /** Counts the output tokens per second of mode `hidden`. */
  tokensPerSecond: number;
  /** Is the tool that mode `tools` calls. */
  call: ToolCall;
  /** Is the number of generated answers with this many tokens each. */
  choices: number;
  /** `classes=all` splits the report's tokens over every class of its protocol. */
  isEveryClass: boolean;
  /** Is true when the request has a directive, as every request of a load has; a node's probe has none. */
  isDirected: boolean;
}

export interface ToolCall {
  name: string;
  input: unknown;
}

const TOKENS_DEFAULT = 16;
const TOKENS_MAX = 100_000;
const SLOW_DELAY_MS = 50;
const RATE_DEFAULT = 100;
const CALL_DEFAULT: ToolCall = { name: 'get_weather', input: { city: 'Bern' } };

const bodySchema = z.looseObject({
  model: z.string(),
  stream: z.boolean().optional(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  max_tokens: z.number().int().nullish(),
  max_completion_tokens: z.number().int().nullish(),
  max_output_tokens: z.number().int().nullish(),
  store: z.boolean().nullish(),
  background: z.boolean().nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.union([z.string(), z.looseObject({ id: z.string() })]).nullish(),
  messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })).default([]),
  system: z.unknown().optional(),
  input: z.unknown().optional(),
  /** Legacy completions send their text here. */
  prompt: z.unknown().optional(),
  /** The provider stores the conversation of messages. */
  thread: z.looseObject({ type: z.string(), previous_message_id: z.string().optional() }).nullish(),
  n: z.number().int().nullish(),
  best_of: z.number().int().nullish(),
  echo: z.boolean().nullish(),
  tools: z
    .array(
      z.looseObject({
        name: z.string().optional(),
        function: z.looseObject({ name: z.string() }).optional(),
      }),
    )
    .nullish(),
  encoding_format: z.string().optional(),
});
export type DemoRequest = z.infer<typeof bodySchema>;

export function parseDemoRequest(text: string): DemoRequest | undefined {
  try {
    return bodySchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export function planFor(request: DemoRequest, modeHeader: string | undefined): Plan {
  const directive = readDirective(request);
  const mode =
    asMode(directive['mode']) ?? asMode(modeHeader) ?? modeOfModel(request.model) ?? 'ok';
  const limit = Math.max(0, limitOf(request) ?? TOKENS_MAX);
  const stated = Number(directive['tokens'] ?? TOKENS_DEFAULT);
  const most = Math.min(stated || 0, TOKENS_MAX);
  const pieces =
    piecesOf(directive['text']) ??
    (mode === 'reworded' ? wordsIn(wordsUpTo(most)).toReversed() : restOf(request, most));
  const asked = Math.min((pieces?.length ?? stated) || 0, TOKENS_MAX);
  return {
    mode: mode === 'agent' ? modeOfAgent(request) : mode,
    tokens: mode === 'overlong' ? asked : Math.min(asked, limit),
    pieces,
    delayMs: Number(directive['delay'] ?? (mode === 'slow' ? SLOW_DELAY_MS : 0)) || 0,
    step: Math.max(1, Number(directive['step'] ?? 1) || 1),
    tokensPerSecond: Number(directive['rate'] ?? RATE_DEFAULT) || RATE_DEFAULT,
    call: mode === 'agent' ? callOf(request, directive) : CALL_DEFAULT,
    choices: request.prompt === undefined ? 1 : generatedChoices(request),
    isEveryClass: directive['classes'] === 'all',
    isDirected: Object.keys(directive).length > 0,
  };
}

function piecesOf(text: string | undefined): readonly string[] | null {
  if (text === undefined) return null;
  return (
    Buffer.from(text, 'base64url')
      .toString('utf8')
      .match(/[^]{1,4}/gu) ?? []
  );
}

/** Each prompt of a legacy completion gets `best_of` answers, of which `n` are shown. */
function generatedChoices({ prompt, n, best_of: bestOf }: DemoRequest): number {
  const isOne = !Array.isArray(prompt) || prompt.every((item) => typeof item === 'number');
  return (isOne ? 1 : prompt.length) * Math.max(n ?? 1, bestOf ?? 1);
}

/** Returns the request's own limit, under its protocol's name. */
export function limitOf(request: DemoRequest): number | null {
  if (request.prompt !== undefined) return request.max_tokens ?? null;
  return request.max_completion_tokens ?? request.max_output_tokens ?? request.max_tokens ?? null;
}

/** Returns the rest of an answer whose beginning is in an assistant message after the directive; a later instruction ends with the words to begin with. */
function restOf({ messages }: DemoRequest, whole: number): readonly string[] | null {
  const [said, instruction, more] = messages.slice(messages.findLastIndex(isDirecting) + 1);
  if (said?.role !== 'assistant' || more) return null;
  const words = wordsUpTo(whole);
  const anchor = instruction ? textOf(instruction.content).split('\n\n').at(-1) : '';
  const text = textOf(said.content).trimEnd();
  if (text === words || !words.startsWith(text) || !text.endsWith(anchor ?? '')) return null;
  return wordsIn(words.slice(text.length - (anchor?.length ?? 0)));
}

function wordsIn(text: string): readonly string[] {
  return text.match(/^\S+|\s\S+/gu) ?? [];
}

function modeOfAgent({ tools, messages }: DemoRequest): Mode {
  const isAnswered = messages
    .slice(messages.findLastIndex(isDirecting) + 1)
    .some(
      ({ role, content }) =>
        role === 'tool' || (Array.isArray(content) && content.some(isToolResult)),
    );
  return isAnswered || !tools?.length ? 'ok' : 'tools';
}

function callOf(
  { tools }: DemoRequest,
  { tool, args }: Record<string, string | undefined>,
): ToolCall {
  const first = tools?.[0];
  return {
    name: tool ?? first?.function?.name ?? first?.name ?? CALL_DEFAULT.name,
    input:
      args === undefined
        ? CALL_DEFAULT.input
        : (JSON.parse(Buffer.from(args, 'base64url').toString('utf8')) as unknown),
  };
}

function isToolResult(part: unknown): boolean {
  return typeof part === 'object' && part !== null && 'type' in part && part.type === 'tool_result';
}

function modeOfModel(model: string): Mode | undefined {
  return asMode(model.slice(model.lastIndexOf(':') + 1)) ?? asMode(model.replace(/^demo-/, ''));
}

function asMode(text: string | undefined): Mode | undefined {
  return MODES.find((mode) => mode === text);
}

const DIRECTIVE = /@demo((?:\s+[a-z]+=[\w-]+)+)/;

function readDirective(request: DemoRequest): Record<string, string | undefined> {
  const message = request.messages.findLast(isDirecting);
  const match = DIRECTIVE.exec(
    textOf(message ? message.content : (request.input ?? request.prompt)),
  );
  return Object.fromEntries(
    (match?.[1] ?? '')
      .trim()
      .split(/\s+/)
      .filter(Boolean)
      .map((pair) => pair.split('=', 2)),
  );
}

function isDirecting({ role, content }: DemoRequest['messages'][number]): boolean {
  return role === 'user' && DIRECTIVE.test(textOf(content));
}

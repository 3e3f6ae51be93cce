import type { z } from 'zod';
import { InvalidRequest } from '../exchange.ts';
import type { Ask, ClientProtocol, CountAsk, CountingProtocol } from '../exchange.ts';
import type { FoundField } from '../fields/found-field.ts';
import { readFields } from '../fields/read-fields.ts';
import { nestedModels } from '../fields/nested-models.ts';
import { serverTools } from '../fields/server-tools.ts';
import { embedTwinOf } from '../generate-request/embed-request.ts';
import { inlineBytes, twinOf, type PathCall } from '../generate-request/request.ts';
import { isRecord, jsonBytes, record } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { promptFacts } from './prompt-facts.ts';
import { readBody, readBodyInTurns, type Pause, type ReadBody } from './read-body.ts';
import { countTokensSchema, responsesRequestSchema, SCHEMAS } from './request-schemas.ts';

/** Reads a request body once. It throws `InvalidRequest` naming the field. */
export function parseAsk(
  protocol: ClientProtocol,
  raw: Uint8Array,
  { isCompaction = false, call }: AskOptions = {},
): Ask {
  const read = readBody(raw);
  if (call) return pathAsk(protocol, read, call);
  const fields = readFields(protocol, read.body);
  const { model } = check(SCHEMAS[protocol], read.body);
  return toAsk(protocol, read, { fields, model, isCompaction });
}

/** Reads a large body in steps, between which other work runs. */
export async function parseAskInTurns(
  protocol: ClientProtocol,
  raw: Uint8Array,
  { pause, isCompaction = false, call }: AskOptions & { pause: Pause },
): Promise<Ask> {
  const read = await readBodyInTurns(raw, pause);
  if (call) return pathAsk(protocol, read, call);
  const fields = readFields(protocol, read.body);
  await pause();
  const { model } = check(SCHEMAS[protocol], read.body);
  await pause();
  return toAsk(protocol, read, { fields, model, isCompaction });
}

interface AskOptions {
  isCompaction?: boolean;
  /** Is set for a request of Gemini. */
  call?: PathCall | undefined;
}

function pathAsk(protocol: ClientProtocol, read: ReadBody, call: PathCall): Ask {
  return protocol === 'embed' ? embedAsk(read, call) : generateAsk(read, call);
}

/** Reads a request for vectors of Gemini: the request of embeddings that says the same, and its own bytes. */
function embedAsk({ raw, body, layout }: ReadBody, call: PathCall): Ask {
  const { body: twin, native, embed } = embedTwinOf(body, call);
  const read = readBody(jsonBytes(twin));
  const { model } = check(SCHEMAS.embed, read.body);
  const ask = toAsk('embed', read, { fields: [], model, isCompaction: false });
  const textBytes = Math.max(ask.prompt.textBytes, raw.length);
  return {
    ...ask,
    prompt: { ...ask.prompt, textBytes },
    generate: { raw, body, layout, isArray: false, native, embed },
  };
}

/** Reads a request of Gemini: the chat request that says the same, and its own bytes. Each byte of it counts as text but for inline data, so that no spelling of a member hides one. */
function generateAsk({ raw, body, layout }: ReadBody, call: PathCall): Ask {
  const { body: twin, native, outputLimit } = twinOf(body, call);
  const read = readBody(jsonBytes(twin));
  const fields = readFields('generate', read.body);
  const { model } = check(SCHEMAS.generate, read.body);
  const ask = toAsk('generate', read, { fields, model, isCompaction: false });
  const { isArray } = call;
  const textBytes = Math.max(ask.prompt.textBytes, raw.length - inlineBytes(body));
  return {
    ...ask,
    outputLimit,
    prompt: { ...ask.prompt, textBytes },
    generate: { raw, body, layout, isArray, native },
  };
}

function toAsk(
  protocol: ClientProtocol,
  { raw, body, layout }: ReadBody,
  { fields, model, isCompaction }: Pick<Ask, 'fields' | 'model' | 'isCompaction'>,
): Ask {
  const tools = serverTools(body);
  if (isCompaction) refuseOfCompaction(body);
  return {
    protocol,
    raw,
    layout,
    body,
    model,
    isCompaction,
    fields,
    isStream: protocol !== 'embeddings' && body['stream'] === true,
    isBackground: protocol === 'responses' && body['background'] === true,
    // A compaction takes no limit: it may generate as much as the model can.
    outputLimit: isCompaction ? Number.MAX_SAFE_INTEGER : limitOf(protocol, fields, body),
    choices: (largest(fields, 'count') ?? 1) * (protocol === 'completions' ? promptsOf(body) : 1),
    wantsStreamUsage: record(body['stream_options'])['include_usage'] === true,
    serverTools: tools,
    nestedModels: nestedModels(protocol, body),
    prompt: promptFacts(protocol, { body, layout, fields, tools }),
  };
}

/** Refuses the fields of a response that a compaction cannot have. */
function refuseOfCompaction(body: JsonRecord): void {
  for (const param of ['stream', 'background', 'max_output_tokens', 'conversation'])
    if (body[param] !== undefined && body[param] !== null && body[param] !== false)
      throw new InvalidRequest(`${param} is not supported by a compaction.`, {
        param,
        code: 'unsupported_parameter',
      });
}

/**
 * Legacy completions generate this many tokens where the request states no limit:
 * https://platform.openai.com/docs/api-reference/completions/create#max_tokens
 */
const COMPLETIONS_LIMIT = 16;

function limitOf(
  protocol: ClientProtocol,
  fields: readonly FoundField[],
  body: JsonRecord,
): number | null {
  const limit = largest(fields, 'limit');
  if (protocol !== 'completions') return limit;
  // Some servers read 0 as no limit.
  if (limit === 0 && body['echo'] !== true)
    throw new InvalidRequest('max_tokens: at least 1; 0 scores a prompt and needs echo: true.', {
      param: 'max_tokens',
      code: 'invalid_value',
    });
  return limit ?? COMPLETIONS_LIMIT;
}

/** Counts the prompts of a legacy completion, each of which gets an answer: texts, or lists of tokens. A single list of tokens is one prompt. */
function promptsOf({ prompt }: JsonRecord): number {
  if (!Array.isArray(prompt)) return 1;
  return prompt.every((item) => typeof item === 'number') ? 1 : prompt.length;
}

/** Refuses several fields with one role, because it is unknown which one the upstream reads. */
function largest(fields: readonly FoundField[], role: 'limit' | 'count'): number | null {
  const values = fields.filter((field) => field.role === role).map(({ value }) => Number(value));
  return values.length === 0 ? null : Math.max(...values);
}

/** Reads a body whose tokens are to be counted: a request without the fields about the answer. It throws `InvalidRequest`. */
export function parseCountTokens(
  protocol: CountingProtocol,
  raw: Uint8Array,
  call?: PathCall,
): CountAsk {
  return toCountAsk(protocol, readBody(raw), call);
}

export async function parseCountTokensInTurns(
  protocol: CountingProtocol,
  raw: Uint8Array,
  { pause, call }: Pick<AskOptions, 'call'> & { pause: Pause },
): Promise<CountAsk> {
  return toCountAsk(protocol, await readBodyInTurns(raw, pause), call);
}

const COUNT_SCHEMAS = { messages: countTokensSchema, responses: responsesRequestSchema };

function toCountAsk(
  protocol: CountingProtocol,
  read: ReadBody,
  call: PathCall | undefined,
): CountAsk {
  if (protocol !== 'generate') {
    const { model } = check(COUNT_SCHEMAS[protocol], read.body);
    return { protocol, ...read, model };
  }
  if (!call) throw new Error('a call of Gemini has its model in the path');
  return { ...generateAsk(countedBody(read), call), protocol };
}

/** `countTokens` takes the contents, or a whole request: https://ai.google.dev/api/tokens */
function countedBody(read: ReadBody): ReadBody {
  const whole = read.body['generateContentRequest'];
  if (!isRecord(whole)) return read;
  const { model: _, ...request } = whole;
  return { ...read, body: request };
}

function check<S extends z.ZodType>(schema: S, body: JsonRecord): z.output<S> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const issue = deepest(result.error.issues);
  const param = fieldPath(issue.path);
  const isMissing = valueAt(body, issue.path) === undefined;
  throw isMissing
    ? new InvalidRequest(`${param}: Field required`, { param, code: 'missing_required_parameter' })
    : new InvalidRequest(`${param}: ${issue.message}`, { param, code: 'invalid_value' });
}

interface Issue {
  path: readonly PropertyKey[];
  message: string;
}

/** Returns the complaint of the union member that matched most of the value: `messages[0].content[1].type`, not `messages`. */
function deepest(issues: readonly z.core.$ZodIssue[], prefix: readonly PropertyKey[] = []): Issue {
  const candidates = issues.map((issue): Issue => {
    const here: Issue = { path: [...prefix, ...issue.path], message: issue.message };
    if (issue.code !== 'invalid_union') return here;
    return issue.errors.map((member) => deepest(member, here.path)).reduce(further, here);
  });
  const [first = { path: prefix, message: 'Invalid value' }] = candidates;
  return candidates.reduce((best, issue) => (isDeeper(issue, best) ? issue : best), first);
}

/** Returns the complaint that is deeper in the value, or at a later item of the same list. */
function further(best: Issue, issue: Issue): Issue {
  const isLater =
    issue.path.length === best.path.length && Number(issue.path.at(-1)) > Number(best.path.at(-1));
  return isDeeper(issue, best) || isLater ? issue : best;
}

function isDeeper(issue: Issue, best: Issue): boolean {
  return issue.path.length > best.path.length;
}

/** Formats `['messages', 0, 'role']` as `messages[0].role`. */
function fieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, key) =>
      typeof key === 'number'
        ? `${text}[${key}]`
        : text === ''
          ? String(key)
          : `${text}.${String(key)}`,
    '',
  );
}

function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined,
    body,
  );
}

import { isAscii, isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import { InvalidRequest } from '../exchange.ts';
import type { Ask, ClientProtocol, CountAsk, CountingProtocol } from '../exchange.ts';
import type { FoundField } from '../fields/found-field.ts';
import { readFields } from '../fields/read-fields.ts';
import { nestedModels } from '../fields/nested-models.ts';
import { serverTools } from '../fields/server-tools.ts';
import { BodyScan } from '../json/body-scan.ts';
import { bufferOf, isRecord, record } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import type { JsonLayout } from '../json/json-layout.ts';
import { promptFacts } from './prompt-facts.ts';
import { countTokensSchema, responsesRequestSchema, SCHEMAS } from './request-schemas.ts';

/** Deeper bodies are refused: walking and serialising values is recursive, and no real request comes near it. */
const NESTING_MAX = 256;
/** Far above any real request (the largest are batches of token arrays); 32 MB of `0,` would otherwise cost gigabytes to read. */
const VALUES_MAX = 1_000_000;
/** Fields of the request itself; the richest real one has some fifty. */
const FIELDS_MAX = 1_000;

/** Reads a request body once. Throws `InvalidRequest` naming the field. */
export function parseAsk(
  protocol: ClientProtocol,
  raw: Uint8Array,
  { isCompaction = false }: AskOptions = {},
): Ask {
  const read = readBody(raw);
  const fields = readFields(protocol, read.body);
  const { model } = check(SCHEMAS[protocol], read.body);
  return toAsk(protocol, read, { fields, model, isCompaction });
}

/** The same for a large body, with pauses: other work is done between them. */
export async function parseAskInTurns(
  protocol: ClientProtocol,
  raw: Uint8Array,
  { pause, isCompaction = false }: AskOptions & { pause: Pause },
): Promise<Ask> {
  const read = await readBodyInTurns(raw, pause);
  const fields = readFields(protocol, read.body);
  await pause();
  const { model } = check(SCHEMAS[protocol], read.body);
  await pause();
  return toAsk(protocol, read, { fields, model, isCompaction });
}

export type Pause = () => Promise<void>;

interface AskOptions {
  isCompaction?: boolean;
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
    // A compaction takes no limit: it may generate what the model can.
    outputLimit: isCompaction ? Number.MAX_SAFE_INTEGER : limitOf(protocol, fields, body),
    choices: (largest(fields, 'count') ?? 1) * (protocol === 'completions' ? promptsOf(body) : 1),
    wantsStreamUsage: record(body['stream_options'])['include_usage'] === true,
    serverTools: tools,
    nestedModels: nestedModels(protocol, body),
    prompt: promptFacts(protocol, { body, layout, fields, tools }),
  };
}

/** The fields of a response that a compaction cannot have. */
function refuseOfCompaction(body: JsonRecord): void {
  for (const param of ['stream', 'background', 'max_output_tokens', 'conversation'])
    if (body[param] !== undefined && body[param] !== null && body[param] !== false)
      throw new InvalidRequest(`${param} is not supported by a compaction.`, {
        param,
        code: 'unsupported_parameter',
      });
}

/** The tokens that legacy completions generate where the request states none: https://platform.openai.com/docs/api-reference/completions/create#max_tokens */
const COMPLETIONS_LIMIT = 16;

function limitOf(
  protocol: ClientProtocol,
  fields: readonly FoundField[],
  body: JsonRecord,
): number | null {
  const limit = largest(fields, 'limit');
  if (protocol !== 'completions') return limit;
  // Some servers read 0 as no limit at all.
  if (limit === 0 && body['echo'] !== true)
    throw new InvalidRequest('max_tokens: at least 1; 0 scores a prompt and needs echo: true.', {
      param: 'max_tokens',
      code: 'invalid_value',
    });
  return limit ?? COMPLETIONS_LIMIT;
}

/** Prompts of a legacy completion, each of which is answered: texts, or lists of tokens. A list of tokens alone is one. */
function promptsOf({ prompt }: JsonRecord): number {
  if (!Array.isArray(prompt)) return 1;
  return prompt.every((item) => typeof item === 'number') ? 1 : prompt.length;
}

/** Refuses several fields of one role: it is unknown which one the upstream reads. */
function largest(fields: readonly FoundField[], role: 'limit' | 'count'): number | null {
  const values = fields.filter((field) => field.role === role).map(({ value }) => Number(value));
  return values.length === 0 ? null : Math.max(...values);
}

/** A body whose tokens are to be counted: as of a request, without what concerns the answer. Throws `InvalidRequest`. */
export function parseCountTokens(protocol: CountingProtocol, raw: Uint8Array): CountAsk {
  return toCountAsk(protocol, readBody(raw));
}

export async function parseCountTokensInTurns(
  protocol: CountingProtocol,
  raw: Uint8Array,
  pause: Pause,
): Promise<CountAsk> {
  return toCountAsk(protocol, await readBodyInTurns(raw, pause));
}

const COUNT_SCHEMAS = { messages: countTokensSchema, responses: responsesRequestSchema };

function toCountAsk(protocol: CountingProtocol, read: ReadBody): CountAsk {
  const { model } = check(COUNT_SCHEMAS[protocol], read.body);
  return { protocol, ...read, model };
}

export interface ReadBody {
  raw: Uint8Array;
  body: JsonRecord;
  layout: JsonLayout;
}

const LIMITS = { values: VALUES_MAX, depth: NESTING_MAX, fields: FIELDS_MAX };
/** Scans one body after the other. */
const bodyScan = new BodyScan(LIMITS);

/** Reads the body of any call. Throws `InvalidRequest`. */
export function readBody(raw: Uint8Array): ReadBody {
  bodyScan.begin(raw).advance();
  return scannedBody(raw, bodyScan);
}

/** Read within a few milliseconds. */
const PIECE_BYTES = 1024 * 1024;

async function readBodyInTurns(raw: Uint8Array, pause: Pause): Promise<ReadBody> {
  const scan = new BodyScan(LIMITS).begin(raw);
  while (!scan.advance(PIECE_BYTES)) await pause();
  await pause();
  const read = scannedBody(raw, scan);
  await pause();
  return read;
}

function scannedBody(raw: Uint8Array, scan: BodyScan): ReadBody {
  if (scan.hasTooManyValues)
    throw invalid(`The request body holds more than ${VALUES_MAX} values.`);
  const body = jsonOf(raw);
  const { layout, duplicate } = scan;
  if (!isRecord(body) || !layout) throw invalid('The request body must be a JSON object.');
  if (scan.isTooDeep)
    throw invalid(`The request body is nested deeper than ${NESTING_MAX} levels.`);
  if (scan.hasTooManyFields) throw invalid(`The request body has more than ${FIELDS_MAX} fields.`);
  if (duplicate !== null)
    throw new InvalidRequest(`The field "${duplicate}" is given more than once.`, {
      param: duplicate,
      code: 'duplicate_field',
    });
  return { raw, body, layout };
}

function invalid(message: string): InvalidRequest {
  return new InvalidRequest(message, { code: 'invalid_json' });
}

function jsonOf(raw: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(bufferOf(raw)));
  } catch {
    throw invalid('The request body is not valid JSON.');
  }
}

/** A decoder that refuses wrong bytes takes twice as long for text of European languages as a look before reading. Throws for wrong bytes. */
function textOf(raw: Buffer): string {
  if (isAscii(raw)) return raw.toString('latin1');
  if (!isUtf8(raw)) throw new TypeError('not UTF-8');
  return raw.toString('utf8');
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

/** `['messages', 0, 'role']` -> `messages[0].role` */
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

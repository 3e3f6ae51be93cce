import { unsupportedHere } from '../errors/unsupported.ts';
import { InvalidRequest } from '../exchange.ts';
import { isRecord, list, nonEmpty, record, records, type JsonRecord } from '../json/json-guard.ts';
import { instructionsOf, messagesOf } from './contents.ts';
import {
  CALLING_CONFIG,
  DECLARATION,
  GENERATION_CONFIG,
  REQUEST,
  THINKING_CONFIG,
  TOOL_CONFIG,
} from './fields.ts';
import { membersOf, spellingOf, type NativeMembers } from './members.ts';
import { jsonSchemaOf } from './schema.ts';

/** Is the part of a request that its path says. */
export interface PathCall {
  readonly model: string;
  readonly isStream: boolean;
  /** The stream is a JSON array in place of server-sent events: `alt=sse` was not asked for. */
  readonly isArray: boolean;
  /** Is true for many texts to embed in place of one. */
  readonly isBatch?: boolean | undefined;
  /** Is the model that the client named, where another one answers in its place. */
  readonly named?: string | undefined;
}

/** Describes a request as one of chat. */
export interface Twin {
  readonly body: JsonRecord;
  /** Lists the members that only Gemini has. */
  readonly native: readonly string[];
  /** Is `maxOutputTokens`; null without one. It is not in the body: each route has a field of its own for it. */
  readonly outputLimit: number | null;
}

/** Converts a body of `generateContent` to one of chat: https://ai.google.dev/api/generate-content. Throws `InvalidRequest` naming the field. */
export function twinOf(request: JsonRecord, { model, isStream }: PathCall): Twin {
  const native: string[] = [];
  const top = membersOf(request, REQUEST, { param: '', native });
  const config =
    top['generationConfig'] === undefined
      ? {}
      : membersOf(top['generationConfig'], GENERATION_CONFIG, {
          param: 'generationConfig',
          native,
        });
  const tools = toolsOf(top['tools'], native);
  const body = {
    model,
    messages: [
      ...instructionsOf(top['systemInstruction'], native),
      ...messagesOf(top['contents'], native),
    ],
    ...(isStream ? { stream: true } : {}),
    ...chosenTools(tools, top['toolConfig'], native),
    ...settingsOf(config),
    ...formatOf(config),
    ...effortOf(config['thinkingConfig'], native),
  };
  return { body, native, outputLimit: limitOf(config) };
}

/** Returns the member by which the body states its limit, with its own spelling; null where it states none. */
export function limitPath(request: JsonRecord): readonly [string, string] | null {
  const config = spellingOf(request, 'generationConfig');
  const limit = config === null ? null : spellingOf(record(request[config]), 'maxOutputTokens');
  return config === null || limit === null ? null : [config, limit];
}

function limitOf({ maxOutputTokens: limit, candidateCount: count }: JsonRecord): number | null {
  if (count !== undefined && count !== 1)
    throw unsupportedHere(
      'more than one candidate',
      'generationConfig.candidateCount',
      'send the request again for a further answer',
    );
  if (limit === undefined) return null;
  const param = 'generationConfig.maxOutputTokens';
  if (typeof limit !== 'number' || !Number.isSafeInteger(limit))
    throw new InvalidRequest(`${param}: Expected an integer`, { param, code: 'invalid_type' });
  if (limit < 1)
    throw new InvalidRequest(`${param}: at least 1`, { param, code: 'integer_below_min_value' });
  return limit;
}

/** Maps settings to the names that chat has for them. */
const SETTINGS: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  topP: 'top_p',
  seed: 'seed',
  stopSequences: 'stop',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
};

function settingsOf(config: JsonRecord): JsonRecord {
  return Object.fromEntries(
    Object.entries(SETTINGS).flatMap(([own, name]) =>
      config[own] === undefined || (list(config[own]).length === 0 && Array.isArray(config[own]))
        ? []
        : [[name, config[own]] as const],
    ),
  );
}

function formatOf({
  responseMimeType: type,
  responseSchema: schema,
  responseJsonSchema: jsonSchema,
}: JsonRecord): JsonRecord {
  const asked = jsonSchema ?? jsonSchemaOf(schema);
  if (isRecord(asked))
    return {
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: asked } },
    };
  return type === 'application/json' ? { response_format: { type: 'json_object' } } : {};
}

/** Is a budget of chat's efforts; -1 lets the model decide. https://ai.google.dev/gemini-api/docs/openai#thinking */
const LOW_MAX = 1_024;
const MEDIUM_MAX = 8_192;

function effortOf(value: unknown, native: NativeMembers): JsonRecord {
  if (value === undefined) return {};
  const param = 'generationConfig.thinkingConfig';
  const { thinkingBudget: budget, thinkingLevel: level } = membersOf(value, THINKING_CONFIG, {
    param,
    native,
  });
  const word = nonEmpty(level)?.toLowerCase();
  if (word !== undefined && word !== 'thinking_level_unspecified')
    return { reasoning_effort: word };
  if (typeof budget !== 'number' || budget < 0) return {};
  if (budget === 0) return { reasoning_effort: 'none' };
  return {
    reasoning_effort: budget <= LOW_MAX ? 'low' : budget <= MEDIUM_MAX ? 'medium' : 'high',
  };
}

/** Converts functions to tools of chat. Any other member is a tool of the provider, and needs a price. */
function toolsOf(value: unknown, native: NativeMembers): JsonRecord[] {
  return list(value).flatMap((tool, at) => {
    const { functionDeclarations: _, function_declarations: __, ...providers } = record(tool);
    const spelling = spellingOf(record(tool), 'functionDeclarations');
    const functions = spelling === null ? [] : list(record(tool)[spelling]);
    const own = functions.map((each, index) =>
      functionOf(each, { param: `tools[${at}].${spelling}[${index}]`, native }),
    );
    const names = Object.keys(providers);
    native.push(...names.map((name) => `tools[${at}].${name}`));
    return [...own, ...names.map((name) => ({ [name]: providers[name] }))];
  });
}

function functionOf(
  value: unknown,
  { param, native }: { param: string; native: NativeMembers },
): JsonRecord {
  const read = membersOf(value, DECLARATION, { param, native });
  const parameters = read['parametersJsonSchema'] ?? jsonSchemaOf(read['parameters']);
  return {
    type: 'function',
    function: {
      name: read['name'],
      ...(read['description'] === undefined ? {} : { description: read['description'] }),
      ...(parameters === undefined ? {} : { parameters }),
    },
  };
}

const CHOICES: Readonly<Record<string, string>> = { ANY: 'required', NONE: 'none' };

/** `allowedFunctionNames` removes all other tools. */
function chosenTools(
  tools: readonly JsonRecord[],
  config: unknown,
  native: NativeMembers,
): JsonRecord {
  if (tools.length === 0) return {};
  const { functionCallingConfig } =
    config === undefined ? {} : membersOf(config, TOOL_CONFIG, { param: 'toolConfig', native });
  if (functionCallingConfig === undefined) return { tools };
  const { mode, allowedFunctionNames } = membersOf(functionCallingConfig, CALLING_CONFIG, {
    param: 'toolConfig.functionCallingConfig',
    native,
  });
  const choice = CHOICES[nonEmpty(mode) ?? ''];
  const allowed = new Set(list(allowedFunctionNames));
  const left = records(tools).filter(
    (tool) => allowed.size === 0 || allowed.has(record(tool['function'])['name']),
  );
  return { tools: left, ...(choice && { tool_choice: choice }) };
}

/** Counts the characters of inline data, which are no text of the prompt. */
export function inlineBytes(request: JsonRecord): number {
  const turns = records(request['contents']).flatMap(({ parts }) => records(parts));
  return turns.reduce((sum, part) => {
    const spelling = spellingOf(part, 'inlineData');
    const data = spelling === null ? null : record(part[spelling])['data'];
    return sum + (typeof data === 'string' ? data.length : 0);
  }, 0);
}

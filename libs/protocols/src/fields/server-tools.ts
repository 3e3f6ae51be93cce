import type { CallCounts, CallKey } from '@tollgate/contracts';
import { isRecord, list, nonEmpty, record } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { declaredTools } from './declared-tools.ts';
import type { DeclaredTool } from './declared-tools.ts';
import {
  CALL_CLASSES,
  CHOICE_TYPES,
  CLIENT_TOOL_TYPES,
  SERVER_TOOL_FIELDS,
  SERVER_TOOL_USES_MAX,
} from './tool-tables.ts';
import { fieldName } from './field-name.ts';
import { foldName } from './fold-name.ts';
import type { ServerTool } from './found-field.ts';

/** Holds the tools of a request, wherever it offers them. */
export interface OfferedTools {
  /** Is the number of tools that the request defines. */
  own: number;
  /** Lists a vendor's tools by their names without version, whose definitions are in the provider's prompt. */
  vendors: readonly string[];
}

const NO_VENDORS: readonly string[] = [];
const NO_TOOLS: readonly ServerTool[] = [];
const TOOL_FIELDS = Object.entries(SERVER_TOOL_FIELDS);

/** Lists the types of tools that the request itself defines. */
const OWN_TYPES: ReadonlySet<unknown> = new Set([
  undefined,
  null,
  'function',
  'custom',
  'namespace',
]);

export function offeredTools(body: JsonRecord, run: readonly ServerTool[]): OfferedTools {
  const declared = declaredTools(body);
  if (declared.length + run.length === 0)
    return { own: list(body['functions']).length, vendors: NO_VENDORS };
  const types = declared.map(({ tool }) => tool['type']);
  const others = types.filter((type) => !OWN_TYPES.has(type));
  const names = others.map((type) => (nonEmpty(type) ?? '').replace(VERSION, ''));
  return {
    own: types.length - others.length + list(body['functions']).length,
    vendors: [
      ...names.filter((name) => CLIENT_TOOL_TYPES.has(name) || name === 'shell'),
      ...run.map(({ name }) => name).filter((name) => name !== 'shell'),
    ],
  };
}

/** Returns the class that counts the calls of a provider's tool; null where only its tokens are charged. */
export function callClassOf(tool: string): CallKey | null {
  const name = foldName(tool);
  return Object.hasOwn(CALL_CLASSES, name) ? (CALL_CLASSES[name] ?? null) : null;
}

/** Sums the uses of tools that are charged by the call. */
export function callsAllowed(tools: readonly ServerTool[]): { calls?: CallCounts } {
  const calls: Partial<Record<CallKey, number>> = {};
  for (const { name, uses } of tools) {
    const key = callClassOf(name);
    if (key !== null) calls[key] = (calls[key] ?? 0) + uses;
  }
  return Object.keys(calls).length === 0 ? {} : { calls };
}

const VERSION = /(?:_\d+)+$/;
/** A toolset names a server of `mcp_servers`, and has its price. */
const PRICED_AS: Readonly<Record<string, string>> = { mcp_toolset: 'mcp' };

/** Returns the provider tools of a request. Each may add input that the request's bytes do not bound, and costs what the provider charges. */
export function serverTools(body: JsonRecord): readonly ServerTool[] {
  const tools = declaredTools(body);
  const isPlain = tools.length === 0 && body['tool_choice'] === undefined;
  if (isPlain && !TOOL_FIELDS.some(([field]) => isAsked(body[field]))) return NO_TOOLS;
  const members = tools.flatMap(({ tool, path }) => byMember(tool, path));
  const declared = tools.flatMap(({ tool, path }): ServerTool[] => {
    const name = providersName(tool);
    if (name === null) return [];
    const { max_uses: max } = tool;
    const isLimited = Number.isSafeInteger(max) && Number(max) > 0;
    return [
      {
        name: PRICED_AS[name] ?? name,
        param: fieldName([...path, 'type']),
        uses: isLimited ? Number(max) : SERVER_TOOL_USES_MAX,
      },
    ];
  });
  const asked = TOOL_FIELDS.filter(([field]) => isAsked(body[field]));
  return [
    ...declared,
    ...members,
    ...chosen(body['tool_choice'], tools),
    ...asked.map(([param, name]) => ({ name, param, uses: SERVER_TOOL_USES_MAX })),
  ];
}

/** A choice of a tool that the request does not declare asks for the provider's own tool. */
function chosen(choice: unknown, declared: readonly DeclaredTool[]): ServerTool[] {
  const types = new Set(declared.map(({ tool }) => unversioned(tool['type'])));
  const { type, tools, allowed_tools: allowed } = record(choice);
  const choices: [unknown, string][] = [
    [type, 'tool_choice.type'],
    ...typesIn(tools, 'tool_choice.tools'),
    ...typesIn(record(allowed)['tools'], 'tool_choice.allowed_tools.tools'),
  ];
  return choices.flatMap(([value, param]) => {
    const name = unversioned(value);
    if (name === null || CHOICE_TYPES.has(name) || types.has(name)) return [];
    return [{ name: PRICED_AS[name] ?? name, param, uses: SERVER_TOOL_USES_MAX }];
  });
}

function typesIn(tools: unknown, path: string): [unknown, string][] {
  return list(tools).map((tool, at) => [record(tool)['type'], `${path}[${at}].type`]);
}

/** Converts `web_search_20260318` to `web_search`; returns null for a value that is not text. */
function unversioned(type: unknown): string | null {
  return typeof type === 'string' ? type.replace(VERSION, '') : null;
}

/** Returns true for a tool that the provider runs. */
export function isProvidersTool(tool: JsonRecord): boolean {
  return providersName(tool) !== null || byMember(tool, []).length > 0;
}

/** Returns the type of a tool that the provider runs, without its version; null for any other. */
function providersName(tool: JsonRecord): string | null {
  const name = unversioned(tool['type']);
  return name === null || CLIENT_TOOL_TYPES.has(name) || isLocalShell(name, tool) ? null : name;
}

/** Servers that read a switch from a text or number read these values as off. */
const OFF: ReadonlySet<unknown> = new Set([
  '',
  '0',
  'f',
  'false',
  'n',
  'no',
  'off',
  0,
  false,
  null,
  undefined,
]);

function isAsked(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return !OFF.has(typeof value === 'string' ? value.trim().toLowerCase() : value);
}

/** Lists Google's tools, folded; a gateway reads them whatever else a tool says: https://ai.google.dev/api/caching#Tool */
const TOOL_MEMBERS: ReadonlySet<string> = new Set([
  'code_execution',
  'codeexecution',
  'computeruse',
  'enterprisewebsearch',
  'google_maps',
  'google_search',
  'google_search_retrieval',
  'googlemaps',
  'googlesearch',
  'googlesearchretrieval',
  'url_context',
  'urlcontext',
]);

/** A tool without a type that defines nothing of the client's is named by its members. */
function byMember(tool: JsonRecord, path: readonly string[]): ServerTool[] {
  const isDefined =
    [tool['type'], tool['name']].some((value) => nonEmpty(value) !== null) ||
    isRecord(tool['function']);
  return Object.keys(tool)
    .filter((member) => !isDefined || TOOL_MEMBERS.has(foldName(member)))
    .map((name) => ({ name, param: fieldName([...path, name]), uses: SERVER_TOOL_USES_MAX }));
}

/** Without this member the provider runs the commands; with it the client does. */
function isLocalShell(name: string, { environment }: JsonRecord): boolean {
  return name === 'shell' && record(environment)['type'] === 'local';
}

import type { ClientProtocol } from '../exchange.ts';
import { isRecord, nonEmpty } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { declaredTools } from './declared-tools.ts';
import { fieldName } from './field-name.ts';
import { FIELD_TABLES } from './field-tables.ts';
import { foldName } from './fold-name.ts';
import type { FieldRole, NestedModel } from './found-field.ts';
import { isProvidersTool } from './server-tools.ts';

/**
 * What becomes of a field inside a request that names a model.
 *
 * - priced: it chooses a model that answers at the price of the request's own, and passes where the price names it
 * - dropped: its object never passes
 * - history: it says which model has answered before, and chooses none
 */
export type NestedModelFate = 'priced' | 'dropped' | 'history';

interface NestedModelRow {
  readonly protocol: ClientProtocol;
  /** `tools[]` stands for a tool wherever a request offers one. */
  readonly path: string;
  /** As the vendor's SDK calls its object; null for a field of other gateways. */
  readonly sdkType: string | null;
  readonly fate: NestedModelFate;
}

/** Every field inside a request of which is known that it names a model. Others of such a name in the same places are found, too. */
export const NESTED_MODELS: readonly NestedModelRow[] = [
  // https://platform.claude.com/docs/en/agents-and-tools/tool-use/advisor-tool
  {
    protocol: 'messages',
    path: 'tools[].model',
    sdkType: 'BetaAdvisorTool20260301',
    fate: 'priced',
  },
  // https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback
  {
    protocol: 'messages',
    path: 'fallbacks[].model',
    sdkType: 'BetaFallbackParam',
    fate: 'dropped',
  },
  {
    protocol: 'messages',
    path: 'messages[].content[].from.model',
    sdkType: 'BetaFallbackInfoParam',
    fate: 'history',
  },
  {
    protocol: 'messages',
    path: 'messages[].content[].to.model',
    sdkType: 'BetaFallbackInfoParam',
    fate: 'history',
  },
  // https://platform.openai.com/docs/guides/tools-image-generation
  { protocol: 'responses', path: 'tools[].model', sdkType: 'ImageGeneration', fate: 'priced' },
  { protocol: 'responses', path: 'tools[].svg.model', sdkType: 'Svg', fate: 'priced' },
  { protocol: 'responses', path: 'moderation.model', sdkType: 'Moderation', fate: 'priced' },
  { protocol: 'chat', path: 'moderation.model', sdkType: 'Moderation', fate: 'priced' },
  // https://openrouter.ai/docs/guides/features/server-tools/advisor
  { protocol: 'chat', path: 'tools[].parameters.model', sdkType: null, fate: 'priced' },
  { protocol: 'responses', path: 'tools[].parameters.model', sdkType: null, fate: 'priced' },
  { protocol: 'chat', path: 'plugins[].model', sdkType: null, fate: 'priced' },
  { protocol: 'chat', path: 'plugins[].models', sdkType: null, fate: 'priced' },
  // https://learn.microsoft.com/azure/ai-services/openai/references/on-your-data
  {
    protocol: 'chat',
    path: 'data_sources[].parameters.embedding_dependency.deployment_name',
    sdkType: null,
    fate: 'priced',
  },
];

/** How vendors call the name of a model, folded. */
const NAMES_A_MODEL = /(?:models?|deployment)(?:[_-]?(?:id|name|slug))?$/;
/** Roles of objects that the provider acts on. Prompts hold what the caller likes, and schemas with members of any name. */
const ACTED_ON: ReadonlySet<FieldRole> = new Set(['setting', 'server_tools', 'reference']);
/** Objects with members of the caller's own. */
const LABELS: ReadonlySet<string> = new Set(['metadata', 'client_metadata', 'tags', 'headers']);
/** No vendor nests so deep. */
const DEPTH_MAX = 8;

/** Fields by which a request chooses a further model: of tools, and of settings that are objects. */
export function nestedModels(protocol: ClientProtocol, body: JsonRecord): NestedModel[] {
  const found: NestedModel[] = [];
  // Of a tool that the client runs the parameters are a schema, whose members may have any name.
  for (const { tool, path } of declaredTools(body)) {
    const { tools: _, ...own } = tool;
    findIn(own, { path, found, depth: isProvidersTool(tool) ? 0 : DEPTH_MAX });
  }
  const table = FIELD_TABLES[protocol];
  for (const [name, value] of Object.entries(body))
    if (ACTED_ON.has(table[name] ?? 'prompt') && !LABELS.has(name))
      findInside(value, { path: [name], found, depth: 0 });
  return found;
}

interface Place {
  path: readonly string[];
  found: NestedModel[];
  depth: number;
}

function findInside(value: unknown, { path, found, depth }: Place): void {
  if (depth > DEPTH_MAX) return;
  if (Array.isArray(value))
    for (const [at, item] of value.entries())
      findInside(item, { path: [...path, String(at)], found, depth: depth + 1 });
  else if (isRecord(value)) findIn(value, { path, found, depth });
}

function findIn(object: JsonRecord, { path, found, depth }: Place): void {
  for (const [name, value] of Object.entries(object)) {
    if (value === null || value === undefined || LABELS.has(name)) continue;
    const here = [...path, name];
    if (NAMES_A_MODEL.test(foldName(name)))
      found.push({ param: fieldName(here), model: nonEmpty(value) });
    else findInside(value, { path: here, found, depth: depth + 1 });
  }
}

import type { ClientProtocol } from '../exchange.ts';
import { isRecord, nonEmpty } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import {
  CALLERS_OWN,
  CALLERS_OWN_OF_PROVIDERS_TOOL,
  CALLERS_OWN_OF_TOOL,
  neverSearched,
  ownPlaces,
} from './callers-own.ts';
import type { OwnPlaces } from './callers-own.ts';
import { declaredTools } from './declared-tools.ts';
import { fieldName } from './field-name.ts';
import { foldName } from './fold-name.ts';
import type { NestedModel } from './found-field.ts';
import { isProvidersTool } from './server-tools.ts';

/**
 * Says what becomes of a field inside a request that names a model.
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
  /** Is the object's name in the vendor's SDK; null for a field of other gateways. */
  readonly sdkType: string | null;
  readonly fate: NestedModelFate;
}

/** Lists every field inside a request that is known to name a model. Others with such a name are found, too, except where `CALLERS_OWN` exempts them. */
export const NESTED_MODELS: readonly NestedModelRow[] = [
  // See https://platform.claude.com/docs/en/agents-and-tools/tool-use/advisor-tool
  {
    protocol: 'messages',
    path: 'tools[].model',
    sdkType: 'BetaAdvisorTool20260301',
    fate: 'priced',
  },
  // See https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback
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
  // See https://platform.openai.com/docs/guides/tools-image-generation
  { protocol: 'responses', path: 'tools[].model', sdkType: 'ImageGeneration', fate: 'priced' },
  { protocol: 'responses', path: 'tools[].svg.model', sdkType: 'Svg', fate: 'priced' },
  { protocol: 'responses', path: 'moderation.model', sdkType: 'Moderation', fate: 'priced' },
  { protocol: 'chat', path: 'moderation.model', sdkType: 'Moderation', fate: 'priced' },
  // See https://openrouter.ai/docs/guides/features/server-tools/advisor
  { protocol: 'chat', path: 'tools[].parameters.model', sdkType: null, fate: 'priced' },
  { protocol: 'responses', path: 'tools[].parameters.model', sdkType: null, fate: 'priced' },
  { protocol: 'chat', path: 'plugins[].model', sdkType: null, fate: 'priced' },
  { protocol: 'chat', path: 'plugins[].models', sdkType: null, fate: 'priced' },
  // See https://learn.microsoft.com/azure/ai-services/openai/references/on-your-data
  {
    protocol: 'chat',
    path: 'data_sources[].parameters.embedding_dependency.deployment_name',
    sdkType: null,
    fate: 'priced',
  },
];

/** Matches the vendors' words for the name of a model, folded. */
const NAMES_A_MODEL = /(?:models?|deployment)(?:[_-]?(?:id|name|slug))?$/;

/** The richest real request names three models. */
const MODELS_MAX = 100;
/** The caller chooses field names; an answer repeats at most this many characters of them. */
const PARAM_CHARS_MAX = 256;

const OF_TOOL = ownPlaces(CALLERS_OWN_OF_TOOL);
const OF_PROVIDERS_TOOL = ownPlaces(CALLERS_OWN_OF_PROVIDERS_TOOL);
const OF_REQUEST = new Map<ClientProtocol, OwnPlaces>();

/** Returns the fields by which a request chooses a further model, anywhere except in its caller's data. */
export function nestedModels(protocol: ClientProtocol, body: JsonRecord): NestedModel[] {
  const found: NestedModel[] = [];
  for (const { tool, path } of declaredTools(body)) {
    // Tools in the object are declared, too.
    const { tools: _, ...own } = tool;
    const places = isProvidersTool(tool) ? OF_PROVIDERS_TOOL : OF_TOOL;
    findIn(own, { step: stepOf(path), found, places });
  }
  const { tools, ...rest } = body;
  findIn(Array.isArray(tools) ? rest : body, { step: null, found, places: placesOf(protocol) });
  return found;
}

function placesOf(protocol: ClientProtocol): OwnPlaces {
  let places = OF_REQUEST.get(protocol);
  if (!places) {
    places = ownPlaces([...CALLERS_OWN, ...neverSearched(protocol)]);
    OF_REQUEST.set(protocol, places);
  }
  return places;
}

function stepOf(path: readonly string[]): Step | null {
  return path.reduce<Step | null>((up, name) => ({ name, up }), null);
}

/** Holds the path to a place, from its end: it is built for millions of objects and read for the few that name a model. */
interface Step {
  readonly name: string;
  readonly up: Step | null;
}

interface Place {
  step: Step | null;
  found: NestedModel[];
  places: OwnPlaces | null | undefined;
}

function findIn(object: JsonRecord, { step, found, places }: Place): void {
  for (const name in object) {
    const value = object[name];
    if (value === null || value === undefined || found.length > MODELS_MAX) continue;
    const member = places?.members.get(name);
    if (member?.isOwn) continue;
    const isModel = NAMES_A_MODEL.test(foldName(name));
    if (!isModel && typeof value !== 'object') continue;
    const here = { name, up: step };
    if (isModel) found.push(nestedModel(here, value, found.length));
    else findInside(value, { step: here, found, places: member });
  }
}

function findInside(value: unknown, { step, found, places }: Place): void {
  if (isRecord(value)) return findIn(value, { step, found, places });
  if (!Array.isArray(value)) return;
  // The value may be a list of a million numbers.
  for (let at = 0; at < value.length; at += 1) {
    const item: unknown = value[at];
    if (typeof item === 'object' && item !== null)
      findInside(item, { step: { name: String(at), up: step }, found, places: places?.items });
  }
}

/** One more than the maximum counts as no name, and is refused. */
function nestedModel(step: Step, value: unknown, before: number): NestedModel {
  const path: string[] = [];
  for (let at: Step | null = step; at; at = at.up) path.unshift(at.name);
  const param = fieldName(path).slice(0, PARAM_CHARS_MAX);
  return { path, param, model: before < MODELS_MAX ? nonEmpty(value) : null };
}

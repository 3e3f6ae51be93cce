import type { IncomingHttpHeaders } from 'node:http';
import { isModelAllowed } from '@tollgate/keyspace';
import { priceInForce } from '@tollgate/metering';
import { InvalidRequest, type ErrorShape } from '@tollgate/protocols';
import type { SnapshotModel } from '@tollgate/snapshot';
import type { Admitter } from '../pipeline/admission/admit.ts';
import { authenticate } from '../pipeline/request/authenticate.ts';
import { modelNotFound } from '../refusals.ts';
import type { RoutingIndex } from '../snapshot/routing-index.ts';

export interface ModelsRequest {
  headers: IncomingHttpHeaders;
  shape: ErrorShape;
  query: URLSearchParams;
  addressHex: string;
  index: RoutingIndex;
}

/** Describes a subscription of the account, and whether the presented key may call its model now. */
interface Listed {
  readonly model: SnapshotModel;
  readonly isCallable: boolean;
}

/** Anthropic's lists have these page sizes. */
const PAGE_LIMIT_DEFAULT = 20;
const PAGE_LIMIT_MAX = 1_000;

/** Serves `GET /v1/models`: every model the account is subscribed to, in one shape both vendors' SDKs read. An entry is `callable` when the key may call it, it is for sale and has a route; `?callable=true` (or `false`) lists only such. The list is paged only for callers that send `anthropic-version`: OpenAI's list has no pages, and Google's comes whole. */
export async function listModels(admitter: Admitter, request: ModelsRequest): Promise<object> {
  const wanted = callableOf(request.query);
  const models = (await subscribedModels(admitter, request)).filter(
    ({ isCallable }) => wanted === null || isCallable === wanted,
  );
  if (request.shape === 'generate') return { models: models.map(toGeminiModel) };
  const page =
    request.headers['anthropic-version'] === undefined
      ? { models, hasMore: false }
      : pageOf(models, request.query);
  return {
    object: 'list',
    data: page.models.map(toModelResponse),
    has_more: page.hasMore,
    first_id: page.models[0]?.model.name ?? null,
    last_id: page.models.at(-1)?.model.name ?? null,
  };
}

/** Serves `GET /v1/models/{id}`, by name or alias: the answer's id is the model's own name, as Anthropic resolves aliases. Throws Refusal when the account is not subscribed to it. */
export async function getModel(
  admitter: Admitter,
  request: ModelsRequest & { name: string },
): Promise<object> {
  const listed = await subscribedModel(admitter, request);
  return request.shape === 'generate' ? toGeminiModel(listed) : toModelResponse(listed);
}

async function subscribedModel(
  admitter: Admitter,
  request: ModelsRequest & { name: string },
): Promise<Listed> {
  const id = request.index.modelNamed(request.name)?.id;
  const listed = (await subscribedModels(admitter, request)).find(({ model }) => model.id === id);
  if (!listed) throw modelNotFound(request.name);
  return listed;
}

async function subscribedModels(
  admitter: Admitter,
  { headers, addressHex, index }: ModelsRequest,
): Promise<Listed[]> {
  const { subscribedModelIds, allowedModels } = await admitter.inquire(
    authenticate(headers),
    addressHex,
  );
  return subscribedModelIds
    .map((id) => index.modelById(id))
    .filter((model) => model !== undefined)
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map((model) => ({
      model,
      isCallable:
        model.is_on_shelf &&
        index.hasRoutes(model.id) &&
        isModelAllowed(allowedModels, model.name) &&
        priceInForce(model.prices, Date.now()) !== undefined,
    }));
}

function callableOf(query: URLSearchParams): boolean | null {
  switch (query.get('callable')) {
    case null:
      return null;
    case 'true':
      return true;
    case 'false':
      return false;
    default:
      throw new InvalidRequest('callable: must be true or false', { param: 'callable' });
  }
}

function pageOf(
  models: readonly Listed[],
  query: URLSearchParams,
): { models: readonly Listed[]; hasMore: boolean } {
  const limit = limitOf(query.get('limit'));
  const before = query.get('before_id');
  const after = query.get('after_id');
  if (before !== null) {
    const end = positionOf(models, 'before_id', before);
    return { models: models.slice(Math.max(0, end - limit), end), hasMore: end > limit };
  }
  const start = after === null ? 0 : positionOf(models, 'after_id', after) + 1;
  return { models: models.slice(start, start + limit), hasMore: start + limit < models.length };
}

function positionOf(models: readonly Listed[], param: string, name: string): number {
  const position = models.findIndex(({ model }) => model.name === name);
  if (position < 0)
    throw new InvalidRequest(`${param}: there is no such model in the list`, { param });
  return position;
}

function limitOf(text: string | null): number {
  if (text === null) return PAGE_LIMIT_DEFAULT;
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > PAGE_LIMIT_MAX)
    throw new InvalidRequest(`limit: must be an integer from 1 to ${PAGE_LIMIT_MAX}`, {
      param: 'limit',
    });
  return limit;
}

function toModelResponse({ model, isCallable }: Listed): object {
  return {
    id: model.name,
    object: 'model',
    created: model.created,
    owned_by: model.owned_by,
    type: 'model',
    display_name: model.display_name,
    ...(model.aliases && { aliases: model.aliases }),
    created_at: new Date(model.created * 1000).toISOString(),
    max_input_tokens: model.context_window,
    max_tokens: model.max_output_tokens,
    ...OF_ANTHROPIC,
    callable: isCallable,
  };
}

const METHODS = {
  chat: ['generateContent', 'countTokens'],
  embedding: ['embedContent', 'batchEmbedContents'],
};

/** Anthropic's list always has these. A model that is retired is not listed, and the gateway knows no more. */
const OF_ANTHROPIC = {
  lifecycle: 'active',
  deprecated_at: null,
  retires_at: null,
  line: null,
  capabilities: null,
};

/** See https://ai.google.dev/api/models#Model */
function toGeminiModel({ model }: Listed): object {
  return {
    name: `models/${model.name}`,
    baseModelId: model.name,
    version: '',
    displayName: model.display_name,
    ...(model.context_window !== null && { inputTokenLimit: model.context_window }),
    ...(model.max_output_tokens !== null && { outputTokenLimit: model.max_output_tokens }),
    supportedGenerationMethods: METHODS[model.kind],
  };
}

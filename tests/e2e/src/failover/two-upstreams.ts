import { administered, type ProviderUpstream } from '@tollgate/demo-upstream';
import {
  createCustomer,
  findFreePort,
  startTollgate,
  subscribeWithKey,
  type Customer,
  type Tollgate,
} from '@tollgate/harness';

/** Is short, so that silence is found out within a test; no answer of the demo upstream takes so long. */
const LIMIT_MS = 1_000;
/** Names models that continue an answer from its beginning. */
const PREFILL_MODELS = { prefill: 'claude-3-5-haiku', hosted: 'us.anthropic.claude-3-5-haiku' };
export const PROTOCOLS = ['chat', 'messages'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** For `prefill` the second route is a model of Anthropic's protocol that takes a prefill; for `hosted` it is one of Bedrock; for `plain` it is one of the client's protocol that takes none and says the same; for `other` it is one that says something else. */
export type Second = 'plain' | 'other' | keyof typeof PREFILL_MODELS;

export interface ModelSpec {
  readonly protocol: Protocol;
  /** Holds what the first upstream does; the second answers. Without: there is one upstream. */
  readonly modes: readonly [first: string, second?: string];
  readonly failover?: Record<string, unknown>;
  /** Is the context window of the second route. */
  readonly window?: number;
  readonly second?: Second;
  /** Puts a route of a provider at this place. */
  readonly provider?: { readonly at: 'first' | 'second' } & ProviderRoute;
}

/** Names an upstream of a provider, and a model there without its mode. */
export interface ProviderRoute {
  readonly upstreamId: number;
  readonly model: string;
}

/** Is a whole Tollgate with one node, one customer, and models that lead to two upstreams. */
export class TwoUpstreams {
  readonly tollgate: Tollgate;
  readonly customer: Customer;
  readonly key: string;
  readonly #upstreams: Record<'first' | 'second' | 'refused', Record<Protocol, number>>;
  readonly #limitMs: number | null;
  #count = 0;
  #bedrock: number | null = null;

  private constructor(parts: {
    tollgate: Tollgate;
    customer: Customer;
    key: string;
    upstreams: Record<'first' | 'second' | 'refused', Record<Protocol, number>>;
    limitMs: number | null;
  }) {
    this.tollgate = parts.tollgate;
    this.customer = parts.customer;
    this.key = parts.key;
    this.#upstreams = parts.upstreams;
    this.#limitMs = parts.limitMs;
  }

  /** `limitMs` says how long upstreams may be silent; null leaves the defaults. */
  static async start({
    limitMs = LIMIT_MS,
  }: { limitMs?: number | null } = {}): Promise<TwoUpstreams> {
    const tollgate = await startTollgate({ nodes: 1 });
    const customer = await createCustomer(tollgate);
    const refused = `http://127.0.0.1:${await findFreePort([])}`;
    const pair = async (name: string, url: string): Promise<Record<Protocol, number>> => ({
      chat: await createUpstream(tollgate, {
        name: `${name}-openai`,
        url,
        protocol: 'openai',
        limitMs,
      }),
      messages: await createUpstream(tollgate, {
        name: `${name}-anthropic`,
        url,
        protocol: 'anthropic',
        limitMs,
      }),
    });
    const upstreams = {
      first: await pair('first', tollgate.upstreamUrl),
      second: await pair('second', tollgate.upstreamUrl),
      refused: await pair('refused', refused),
    };
    const key = await subscribeWithKey(customer, { modelIds: [] });
    return new TwoUpstreams({ tollgate, customer, key, upstreams, limitMs });
  }

  /** Returns the names of the models, once the node serves them. */
  async addModels(specs: readonly ModelSpec[]): Promise<string[]> {
    const names: string[] = [];
    for (const spec of specs) names.push(await this.#addModel(spec));
    await this.tollgate.admin.syncAll();
    return names;
  }

  /** Adds a model whose first upstream is at this address. */
  async addModelAt(
    url: string,
    protocol: Protocol,
    failover: Record<string, unknown>,
  ): Promise<string> {
    this.#count += 1;
    const name = `outage-${this.#count}`;
    const spoken = protocol === 'chat' ? 'openai' : 'anthropic';
    const limitMs = this.#limitMs;
    const first = await createUpstream(this.tollgate, { name, url, protocol: spoken, limitMs });
    const model = await this.#addModel({ protocol, modes: ['ok', 'ok'], failover }, first);
    await this.tollgate.admin.syncAll();
    return model;
  }

  async addProvider(provider: ProviderUpstream): Promise<ProviderRoute> {
    const { upstream, upstreamModel: model = 'provider' } = administered(provider);
    this.#count += 1;
    const upstreamId = await this.tollgate.admin.createUpstream({
      ...upstream,
      name: `provider-${this.#count}`,
      ...limitsOf(this.#limitMs),
    });
    return { upstreamId, model };
  }

  /** The demo upstream has no version segment before Bedrock's paths. */
  async #hosted(): Promise<number> {
    this.#bedrock ??= await this.tollgate.admin.createUpstream({
      name: 'second-bedrock',
      protocol: 'bedrock',
      base_url: this.tollgate.upstreamUrl,
      api_key: 'key-of-the-operator',
    });
    return this.#bedrock;
  }

  async #addModel(
    { protocol, modes, failover = {}, window, second: kind = 'plain', provider }: ModelSpec,
    at?: number,
  ): Promise<string> {
    const [first, second] = modes;
    const takesNone = kind === 'plain' || kind === 'other';
    const { admin } = this.tollgate;
    this.#count += 1;
    const name = `failover-${this.#count}`;
    const settings = {
      is_on_shelf: true,
      price: { price_per_million: '1' },
      failover: {
        ...(this.#limitMs !== null && { first_byte_timeout_ms: this.#limitMs }),
        ...failover,
      },
    };
    const model_id = await admin.createModel({ name, ...settings });
    const upstreams = this.#upstreams[first === 'refused' ? 'refused' : 'first'];
    const route = { model_id, weight: 1 };
    await admin.createRoute({
      ...route,
      upstream_id: provider?.at === 'first' ? provider.upstreamId : (at ?? upstreams[protocol]),
      upstream_model: `${provider?.at === 'first' ? provider.model : 'first'}:${first}`,
      priority: 1,
    });
    if (second !== undefined && provider?.at === 'second')
      await admin.createRoute({
        ...{ ...route, upstream_id: provider.upstreamId, priority: 2 },
        upstream_model: `${provider.model}:${second}`,
      });
    else if (second !== undefined)
      await admin.createRoute({
        ...route,
        upstream_id:
          kind === 'hosted'
            ? await this.#hosted()
            : this.#upstreams.second[takesNone ? protocol : 'messages'],
        upstream_model: `${takesNone ? 'second' : PREFILL_MODELS[kind]}:${second}`,
        priority: 2,
        ...(window !== undefined && { context_window: window }),
      });
    await this.customer.client.subscribe({ model_id, tokens: 100_000 });
    return name;
  }
}

function createUpstream(
  { admin }: Tollgate,
  {
    name,
    url,
    protocol,
    limitMs,
  }: { name: string; url: string; protocol: 'openai' | 'anthropic'; limitMs: number | null },
): Promise<number> {
  return admin.createUpstream({
    name,
    protocol,
    base_url: `${url}/v1`,
    api_key: 'key-of-the-operator',
    ...limitsOf(limitMs),
  });
}

function limitsOf(limitMs: number | null) {
  return limitMs === null
    ? {}
    : {
        connect_timeout_ms: limitMs,
        first_token_timeout_ms: limitMs,
        idle_timeout_ms: limitMs * 2,
      };
}

import { z } from 'zod';

const REQUEST_TIMEOUT_MS = 30_000;

const withId = z.object({ id: z.number().int() });
const problem = z.object({ code: z.string(), detail: z.string().optional() }).partial();

/** Is thrown for a refusal of the administration interface. `code` is the problem's own code (RFC 9457 body), or `unknown`. */
export class AdminRefusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(request: string, status: number, body: string) {
    const { code = 'unknown', detail } = problem.catch({}).parse(parseJson(body));
    super(`${request} answered ${status} ${code}: ${detail ?? body.slice(0, 500)}`);
    this.status = status;
    this.code = code;
  }
}

export interface NewModel {
  name: string;
  display_name?: string;
  kind?: 'chat' | 'embedding';
  owned_by?: string;
  context_window?: number;
  max_output_tokens?: number;
  default_output_tokens?: number;
  price?: NewPrice;
  /** The default is off, because a model needs a price to be for sale. */
  is_on_shelf?: boolean;
}
export interface NewPrice {
  /** Is decimal text in the installation's currency. */
  price_per_million: string;
  /** Is decimal text; the default is 1. */
  weight_input?: string;
  weight_output?: string;
  weight_cache_read?: string;
  weight_cache_write?: string;
  /** The default is the parent's weight. */
  weight_cache_write_1h?: string;
  weight_audio_input?: string;
  weight_audio_output?: string;
  /** Maps premiums, such as `server_tools=web_search`, to multipliers. */
  multipliers?: Record<string, string>;
  /** Holds the weights of longer prompts. */
  tiers?: { above_prompt_tokens: number; weights: Record<string, string> }[];
  /** Must be true for a price that charges nothing. */
  free?: boolean;
}
export interface NewUpstream {
  name: string;
  protocol: string;
  /** The address includes the version segment where the protocol has one, for example `https://api.example.com/v1`. */
  base_url: string;
  api_key?: string;
  [setting: string]: unknown;
}
export interface NewRoute {
  model_id: number;
  upstream_id: number;
  upstream_model: string;
  priority?: number;
  weight?: number;
}
export interface NewSubscription {
  model_id: number;
  tokens: number;
  auto_recharge_threshold?: number;
  auto_recharge_amount?: number;
}
export interface NewKey {
  name: string;
  allowed_models?: string;
  rpm?: number;
  rph?: number;
  rpd?: number;
}

const syncResult = z.object({
  version: z.number().int(),
  nodes: z.array(z.object({ id: z.number().int(), name: z.string(), outcome: z.string() }).loose()),
});
export type SyncResult = z.infer<typeof syncResult>;

/** Calls the administration interface with one account's token. Methods throw AdminRefusal. */
export class AdminClient {
  /** Is the origin that serves /admin-api: the control plane or the front door. */
  readonly baseUrl: string;
  readonly token: string | undefined;

  constructor(baseUrl: string, token?: string) {
    this.baseUrl = baseUrl;
    this.token = token;
  }

  /** `path` is below /admin-api. Resolves with the parsed body; undefined when there is none. */
  async call(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<unknown> {
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${this.baseUrl}/admin-api${path}`, {
      method,
      ...content,
      headers: {
        ...(this.token === undefined ? {} : { authorization: `Bearer ${this.token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const text = await response.text();
    if (!response.ok) throw new AdminRefusal(`${method} ${path}`, response.status, text);
    return text === '' ? undefined : parseJson(text);
  }

  async login(username: string, password: string): Promise<AdminClient> {
    const { token } = z
      .object({ token: z.string() })
      .parse(await this.call('POST', '/auth/login', { username, password }));
    return new AdminClient(this.baseUrl, token);
  }

  /** Returns the new account's id; the account is pending until it is approved. */
  async register(username: string, password: string): Promise<number> {
    return withId.parse(await this.call('POST', '/auth/register', { username, password })).id;
  }

  async approve(userId: number): Promise<void> {
    await this.call('POST', `/users/${userId}/approve`);
  }

  /** With an idempotency key, a repetition within 24 hours pays in only once. */
  async adminRecharge({
    userId,
    amount,
    note,
    idempotencyKey,
  }: {
    userId: number;
    amount: string;
    note: string;
    idempotencyKey?: string;
  }): Promise<void> {
    await this.call(
      'POST',
      '/wallet/admin-recharge',
      { user_id: userId, amount, note },
      idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
    );
  }

  async createModel(model: NewModel): Promise<number> {
    return withId.parse(await this.call('POST', '/models', model)).id;
  }

  async createUpstream(upstream: NewUpstream): Promise<number> {
    return withId.parse(await this.call('POST', '/upstreams', upstream)).id;
  }

  async createRoute(route: NewRoute): Promise<number> {
    return withId.parse(await this.call('POST', '/routing', route)).id;
  }

  async subscribe(subscription: NewSubscription): Promise<void> {
    await this.call('POST', '/models/subscribe', subscription);
  }

  /** `key` is the secret, which is shown only this once. */
  async createKey(key: NewKey): Promise<{ id: number; key: string }> {
    return z
      .object({ id: z.number().int(), key: z.string() })
      .parse(await this.call('POST', '/keys', key));
  }

  /** Publishes, and waits until every node has applied the version or failed to. */
  async syncAll(): Promise<SyncResult> {
    return syncResult.parse(await this.call('POST', '/proxy-nodes/sync-all'));
  }

  /** Returns the first page of a list. */
  async list(path: string): Promise<Record<string, unknown>[]> {
    return z
      .object({ data: z.array(z.record(z.string(), z.unknown())) })
      .parse(await this.call('GET', path)).data;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

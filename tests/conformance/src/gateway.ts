import { inLanes } from './in-lanes.ts';
import {
  createCustomer,
  startTollgate,
  subscribeWithKey,
  type Customer,
  type NewUpstream,
  type Tollgate,
} from '@tollgate/harness';

const SETUP_LANES = 4;
/** Is bought of every model; a token costs nothing, and every token of usage is one of these. */
export const TOKENS = 10_000_000_000;
const TIMEOUTS = {
  connect_timeout_ms: 2_000,
  first_token_timeout_ms: 10_000,
  idle_timeout_ms: 10_000,
  total_timeout_ms: 60_000,
};

export interface RoutedUpstream {
  url: string;
  protocol: NewUpstream['protocol'];
  kind?: 'chat' | 'embedding';
  /** Holds deadlines and other settings of the upstream. */
  settings?: Record<string, unknown>;
}

/** Is a real proxy node with one customer, and a model for every upstream asked for. */
export interface Gateway {
  tollgate: Tollgate;
  nodeUrl: string;
  apiKey: string;
  customer: Customer;
  /** Adds models in the order of the upstreams, and answers once the node serves them. */
  addModels: (upstreams: readonly RoutedUpstream[]) => Promise<{ id: number; name: string }[]>;
  stop: () => Promise<void>;
}

export async function startGateway(env: Record<string, string> = {}): Promise<Gateway> {
  const tollgate = await startTollgate({ nodes: 1, env });
  try {
    const customer = await createCustomer(tollgate, { amount: '1000000000' });
    const apiKey = await subscribeWithKey(customer, { modelIds: [] });
    let count = 0;
    const addModel = async ({
      url,
      protocol,
      kind = 'chat',
      settings = {},
    }: RoutedUpstream): Promise<{ id: number; name: string }> => {
      count += 1;
      const name = `replayed-${count}`;
      const id = await tollgate.admin.createModel({
        name,
        kind,
        context_window: 1_000_000,
        default_output_tokens: 64_000,
        price: {
          price_per_million: '0.01',
          multipliers: { 'server_tools=web_search': '1', 'server_tools=code_execution': '1' },
        },
        is_on_shelf: true,
      });
      const upstream_id = await tollgate.admin.createUpstream({
        name,
        protocol,
        base_url: url,
        api_key: 'sk-of-the-operator-0123456789',
        ...TIMEOUTS,
        ...settings,
      });
      await tollgate.admin.createRoute({
        model_id: id,
        upstream_id,
        upstream_model: 'as-recorded',
      });
      await customer.client.subscribe({ model_id: id, tokens: TOKENS });
      return { id, name };
    };
    const addModels = async (
      upstreams: readonly RoutedUpstream[],
    ): Promise<{ id: number; name: string }[]> => {
      const models = await inLanes(upstreams, SETUP_LANES, addModel);
      await tollgate.admin.syncAll();
      return models;
    };
    return {
      tollgate,
      nodeUrl: tollgate.nodeUrls[0] ?? '',
      apiKey,
      customer,
      addModels,
      stop: () => tollgate.stop(),
    };
  } catch (error) {
    await tollgate.stop();
    throw error;
  }
}

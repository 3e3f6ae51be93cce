import {
  AdminClient,
  createCustomer,
  subscribeWithKey,
  type Customer,
  type RoutedModel,
  type Tollgate,
} from '@tollgate/harness';
import { Limits } from './limits.ts';
import {
  chatModels,
  createLoadModels,
  modelOf,
  MULTIPLIERS,
  TIERS,
  type LoadModels,
  type RequestPlan,
  type Target,
} from '@tollgate/audit';

const CUSTOMERS = 6;
const TOKENS_EACH = 50_000_000;
const RENEWAL_TOKENS = 1_000;
/** Is the share of changes that unsubscribe; the others buy. */
const UNSUBSCRIBE_SHARE = 0.2;
const PRICE_SHARE = 0.1;
const LIMIT_SHARE = 0.3;
const NEW_WEIGHTS = ['0.3', '1', '1.7', '2.25'];
const NEW_PRICES = ['0.5', '1', '1.75'];

/** Has several customers, each with a subscription to every model and a key of their own; every node draws upon all of it. */
export class Scene {
  readonly #tollgate: Tollgate;
  readonly #models: LoadModels;
  readonly #customers: { customer: Customer; apiKey: string }[];
  /** Counts the changes that were accepted. */
  readonly changes = { purchases: 0, withdrawals: 0, prices: 0, budgets: 0 };
  readonly #limits = new Limits();

  private constructor(
    tollgate: Tollgate,
    models: LoadModels,
    customers: { customer: Customer; apiKey: string }[],
  ) {
    this.#tollgate = tollgate;
    this.#models = models;
    this.#customers = customers;
  }

  static async set(tollgate: Tollgate): Promise<Scene> {
    const models = await createLoadModels(tollgate);
    const modelIds = [...chatModels(models), models.embedding].map(({ id }) => id);
    const customers = [];
    for (let index = 0; index < CUSTOMERS; index += 1) {
      const customer = await createCustomer(tollgate, { amount: '1000000' });
      customers.push({
        customer,
        apiKey: await subscribeWithKey(customer, { modelIds, tokens: TOKENS_EACH }),
      });
    }
    await tollgate.admin.syncAll();
    return new Scene(tollgate, models, customers);
  }

  /** Sets three rates and three budgets of each key. */
  async limit(): Promise<void> {
    const [model] = this.#models.plain;
    if (!model) throw new Error('there is no model');
    await this.#limits.set(
      this.#customers.map(({ customer }) => customer),
      model,
    );
  }

  get choices(): { customers: number; models: number; addresses: number } {
    return {
      customers: this.#customers.length,
      models: this.#models.plain.length,
      addresses: this.#tollgate.nodeUrls.length,
    };
  }

  targetOf(plan: RequestPlan): Target {
    return {
      origin: this.#tollgate.nodeUrls[plan.address] ?? '',
      apiKey: this.#customers[plan.customer]?.apiKey ?? '',
      model: modelOf(this.#models, plan)?.name ?? '',
    };
  }

  /** Buys tokens while things break. Whether it worked is for the books to say. */
  async renewOne(random: () => number): Promise<void> {
    const { client, model } = this.#draw(random);
    await this.#buy(client, model);
  }

  /** Buys tokens, unsubscribes and subscribes again, or changes a price or a budget, while things break. */
  async changeOne(random: () => number): Promise<void> {
    const { client, model } = this.#draw(random);
    const change = random();
    if (change < PRICE_SHARE) return this.#changePrice(client.baseUrl, model, random);
    if (change < PRICE_SHARE + UNSUBSCRIBE_SHARE) {
      const path = `/models/unsubscribe?drain=${random() < 0.5}`;
      await this.#count('withdrawals', client.call('POST', path, { model_id: model.id }));
    }
    if (change > 1 - LIMIT_SHARE) {
      const clientOf = ({ client: { token } }: Customer): AdminClient =>
        new AdminClient(client.baseUrl, token);
      return this.#count('budgets', this.#limits.changeOne(random, clientOf));
    }
    await this.#buy(client, model);
  }

  /** Opens the subscription again where it is closed. */
  async #buy(client: AdminClient, { id: model_id }: RoutedModel): Promise<void> {
    const bought = client
      .call('POST', '/models/renew', { model_id, tokens: RENEWAL_TOKENS })
      .catch(() => client.subscribe({ model_id, tokens: TOKENS_EACH }));
    await this.#count('purchases', bought);
  }

  async #count(kind: keyof Scene['changes'], change: Promise<unknown>): Promise<void> {
    await change.then(
      () => void (this.changes[kind] += 1),
      () => undefined,
    );
  }

  #draw(random: () => number): { client: AdminClient; model: RoutedModel } {
    const { customer } = pick(this.#customers, random);
    const url = pick(this.#tollgate.adminUrls, random);
    return {
      client: new AdminClient(url, customer.client.token),
      model: pick(chatModels(this.#models), random),
    };
  }

  async #changePrice(url: string, model: RoutedModel, random: () => number): Promise<void> {
    const admin = new AdminClient(url, this.#tollgate.admin.token);
    const price = {
      model_id: model.id,
      price_per_million: pick(NEW_PRICES, random),
      weight_input: pick(NEW_WEIGHTS, random),
      weight_output: pick(NEW_WEIGHTS, random),
      weight_cache_write_1h: pick(NEW_WEIGHTS, random),
      weight_audio_output: pick(NEW_WEIGHTS, random),
      multipliers: Object.fromEntries(
        Object.keys(MULTIPLIERS).map((premium) => [premium, pick(NEW_WEIGHTS, random)]),
      ),
      tiers: pick([[], TIERS], random),
    };
    await this.#count('prices', admin.call('POST', '/models/pricing', price));
    await admin.syncAll().catch(() => undefined);
  }
}

function pick<T>(list: readonly T[], random: () => number): T {
  const chosen = list[Math.floor(random() * list.length)];
  if (chosen === undefined) throw new Error('nothing to choose from');
  return chosen;
}

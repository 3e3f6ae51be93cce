import { describe, expect, test } from '@jest/globals';
import { parseApiKey } from '@tollgate/contracts';
import { MeteringStore } from '@tollgate/keyspace';
import { formatAmount } from '@tollgate/money';
import { eventually } from '@tollgate/harness';
import fc from 'fast-check';
import { uuidv7 } from '../../platform/http/visitor.ts';
import { ledger, plane, shareLedgerPlane } from '../../testing/ledger-plane-under-test.ts';
import { usageEvent, type EventParts, type TestAccount } from '../../testing/ledger-under-test.ts';
import './budget-previews.part.spec.ts';
import { UsageWorker } from '../usage/ingest/usage-worker.ts';

shareLedgerPlane();

const as =
  (account: { token: string }) =>
  <Method extends string, Path extends string>(method: Method, path: Path, body?: unknown) =>
    plane.call(method, path, { token: account.token, ...(body === undefined ? {} : { body }) });
const preview = async <What extends string>(account: TestAccount, what: What) =>
  (await as(account)('GET', `/previews/${what}`)).body;

describe('the preview of a purchase', () => {
  test('says what subscribing then costs, to the millionth', async () => {
    const [account, model] = [await ledger.account('10'), await ledger.model('2.5')];
    const shown = await preview(account, `purchase?model_id=${model.id}&tokens=1234567`);
    expect(shown).toMatchObject({
      tokens: 1_234_567,
      is_subscribed: false,
      wallet_before: '10',
      is_affordable: true,
      tokens_after: 1_234_567,
    });
    const bought = await as(account)('POST', '/models/subscribe', {
      model_id: model.id,
      tokens: 1_234_567,
    });
    expect(bought.body.cost).toBe(shown.cost);
    expect((await as(account)('GET', '/wallet')).body.balance).toBe(shown.wallet_after);
    expect(await preview(account, `purchase?model_id=${model.id}&tokens=1`)).toMatchObject({
      is_subscribed: true,
      tokens_after: 1_234_568,
    });
  });

  test('of an amount buys the most tokens that do not cost more', async () => {
    const [account, model] = [await ledger.account('5'), await ledger.model('0.37')];
    const shown = await preview(account, `purchase?model_id=${model.id}&amount=1.000001`);
    expect(Number(shown.cost)).toBeLessThanOrEqual(1.000001);
    const more = await preview(account, `purchase?model_id=${model.id}&tokens=${shown.tokens + 1}`);
    expect(Number(more.cost)).toBeGreaterThan(1.000001);
  });

  test('shows what is missing, and buys nothing', async () => {
    const [account, model] = [await ledger.account('1'), await ledger.model('2')];
    expect(await preview(account, `purchase?model_id=${model.id}&tokens=1000000`)).toMatchObject({
      cost: '2',
      wallet_after: '-1',
      is_affordable: false,
    });
    expect((await as(account)('GET', '/wallet')).body.balance).toBe('1');
    expect((await as(account)('GET', '/models/my')).body.total).toBe(0);
  });

  test.each([
    ['neither tokens nor amount', ''],
    ['both', '&tokens=1&amount=1'],
    ['no tokens', '&tokens=0'],
    ['a negative amount', '&amount=-1'],
  ])('refuses %s', async (_, query) => {
    const [account, model] = [await ledger.account('0'), await ledger.model('1')];
    const answer = await as(account)('GET', `/previews/purchase?model_id=${model.id}${query}`);
    expect(answer.status).toBe(400);
  });

  test("of another account's wallet is an administrator's (S24)", async () => {
    const [account, other] = [await ledger.account('0'), await ledger.account('3')];
    const model = await ledger.model('1');
    const path = `/previews/purchase?model_id=${model.id}&tokens=5&user_id=${other.id}` as const;
    expect((await as(account)('GET', path)).status).toBe(404);
    expect((await ledger.asAdmin('GET', path)).body.wallet_before).toBe('3');
  });
});

describe('the preview of a refund', () => {
  /** Uses tokens as a node does: admit, then settle. Answers how the event of it is booked. */
  async function use(parts: EventParts, tokens: number): Promise<() => Promise<void>> {
    const { account, model } = parts;
    const { body } = await as(account)('POST', '/keys', { name: 'k' });
    const rid = uuidv7(Date.now());
    const store = plane.app.get(MeteringStore);
    const admitted = await store.admit({
      rid,
      accountId: account.id,
      keyHash: parseApiKey(body.key)?.hash ?? '',
      modelId: model.id,
      modelName: model.name,
      priceVersionId: model.priceId,
      wantTokens: tokens,
      minTokens: 1,
      addressHex: '',
      concurrencyMax: 0,
      leaseMs: 60_000,
      node: 'node-a:0',
    });
    expect(admitted.kind).toBe('admitted');
    const event = usageEvent(tokens, { ...parts, rid });
    await store.settle({
      rid,
      accountId: account.id,
      modelId: model.id,
      chargeTokens: tokens,
      payload: event.payload,
      reEmit: false,
    });
    return () => plane.app.get(UsageWorker).process([event]);
  }

  const purchase = fc.record({
    tokens: fc.integer({ min: 1, max: 90_000 }),
    price: fc.integer({ min: 1, max: 9_999_999 }),
  });
  test('is exactly what unsubscribing then refunds, whatever was bought at which price, used, and booked by then', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(purchase, { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 0, max: 100 }),
        fc.boolean(),
        async (purchases, usedPercent, isBookedBefore) => {
          const [account, model] = [await ledger.account('1000000'), await ledger.model('1')];
          for (const [index, { tokens, price }] of purchases.entries()) {
            await ledger.asAdmin('POST', '/models/pricing', {
              model_id: model.id,
              price_per_million: formatAmount(BigInt(price)),
            });
            await as(account)('POST', index === 0 ? '/models/subscribe' : '/models/renew', {
              model_id: model.id,
              tokens,
            });
          }
          const { id: subscriptionId } = await ledger.subscription(account, model);
          const total = purchases.reduce((sum, { tokens }) => sum + tokens, 0);
          const used = Math.floor((total * usedPercent) / 100);
          const bookUsage =
            used > 0 ? await use({ account, model, subscriptionId }, used) : async () => undefined;
          if (isBookedBefore) await bookUsage();
          const shown = await preview(account, `refund?model_id=${model.id}`);
          if (!isBookedBefore) await bookUsage();
          await as(account)('POST', '/models/unsubscribe', { model_id: model.id });
          await eventually(async () =>
            expect((await as(account)('GET', '/models/my')).body.total).toBe(0),
          );
          expect(shown.refunded_tokens).toBe(total - used);
          expect((await as(account)('GET', '/wallet')).body.balance).toBe(shown.wallet_after);
        },
      ),
      { numRuns: 6 },
    );
  }, 60_000);

  test('counts the keys that may call the model', async () => {
    const [account, model] = [await ledger.account('10'), await ledger.model('1')];
    await as(account)('POST', '/models/subscribe', { model_id: model.id, tokens: 1000 });
    for (const allowed_models of ['', '*', 'model-*', model.name, 'other', `${model.name}x`])
      await as(account)('POST', '/keys', { name: 'k', allowed_models });
    // The key is temporary and in no list: the account does not know it as a key.
    await as(account)('POST', '/playground/key', {});
    expect(await preview(account, `refund?model_id=${model.id}`)).toMatchObject({
      keys_affected: 4,
      held_tokens: 0,
      is_live: true,
    });
  });

  test('of no subscription is refused', async () => {
    const [account, model] = [await ledger.account('0'), await ledger.model('1')];
    expect((await preview(account, `refund?model_id=${model.id}`)).code).toBe('not_subscribed');
  });
});

describe('the preview of a charge', () => {
  test('has the weights of the tier that its prompt is in', async () => {
    const [account, model] = [await ledger.account('0'), await ledger.model('1')];
    const weights = {
      ...{ weight_input: 2, weight_output: 3 },
      ...{ weight_cache_read: 1, weight_cache_write: 1 },
    };
    await ledger.asAdmin('POST', '/models/pricing', {
      model_id: model.id,
      price_per_million: 1,
      tiers: [{ above_prompt_tokens: 100, weights }],
    });
    const chargeOf = async (input: number) =>
      (await preview(account, `charge?model_id=${model.id}&input_tokens=${input}&output_tokens=5`))
        .charged_tokens;
    expect([await chargeOf(100), await chargeOf(101)]).toEqual([105, 217]);
  });

  test('adds up: lines, sum, one rounding up, cost', async () => {
    const account = await ledger.account('0');
    const model = await ledger.model('2');
    await ledger.asAdmin('POST', '/models/pricing', {
      model_id: model.id,
      price_per_million: '2',
      weight_output: '4',
      weight_cache_read: '0.1',
    });
    expect(
      await preview(
        account,
        `charge?model_id=${model.id}&input_tokens=100&cache_read_tokens=3&output_tokens=50`,
      ),
    ).toMatchObject({
      lines: [
        { class: 'input', unit: 'token', count: 100, charged: '100' },
        { class: 'cache_read', unit: 'token', count: 3, charged: '0.3' },
        { class: 'cache_write', unit: 'token', count: 0, charged: '0' },
        { class: 'output', unit: 'token', count: 50, weight: '4', charged: '200' },
      ],
      sum: '300.3',
      charged_tokens: 301,
      cost: '0.000602',
    });
  });

  test('at another price shows the difference, and changes none', async () => {
    const model = await ledger.model('2');
    const query = `model_id=${model.id}&input_tokens=1000000&output_tokens=1000000`;
    const answer = await ledger.asAdmin(
      'GET',
      `/previews/price-change?${query}&price_per_million=1&weight_output=5`,
    );
    expect(answer.body).toMatchObject({
      before: { charged_tokens: 2_000_000, cost: '4' },
      after: { charged_tokens: 6_000_000, cost: '6', price_per_million: '1' },
      cost_difference: '2',
      charged_tokens_difference: 4_000_000,
    });
    const { body } = await ledger.asAdmin(
      'GET',
      `/models/pricing?model_id=${model.id}&in_force=true`,
    );
    expect(body.data[0].price_per_million).toBe('2');
  });

  test('beyond what money is counted in is refused, not an error', async () => {
    const model = await ledger.model('2');
    const answer = await ledger.asAdmin(
      'GET',
      `/previews/price-change?model_id=${model.id}&input_tokens=1000000000&weight_input=1000000&price_per_million=9000000000000`,
    );
    expect(answer).toMatchObject({ status: 409, body: { code: 'token_limit' } });
  });
});

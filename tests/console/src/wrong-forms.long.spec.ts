import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createCustomer, subscribeWithKey } from '@tollgate/harness';
import { browser, startStage, WITHOUT, type Stage, type Visitor } from './stage.ts';
import {
  ADMIN_FORMS,
  CUSTOMER_FORMS,
  faultsOf,
  GUEST_FORMS,
  openForm,
  sendWrong,
  type Ids,
  type WrongForm,
} from './wrong-forms.ts';

const START_MS = 120_000;
const FORM_MS = 120_000;
const HAN = /\p{Script=Han}/u;

(browser === undefined ? describe.skip : describe)(`a form that is wrong${WITHOUT}`, () => {
  let stage: Stage;
  let ids: Ids;
  const visitors = new Map<string, Visitor>();

  beforeAll(async () => {
    stage = await startStage();
    const { admin, adminCredentials } = stage.tollgate;
    const upstream = await admin.createUpstream({
      name: 'wrong',
      protocol: 'openai',
      base_url: 'https://api.example.com/v1',
      api_key: 'k',
    });
    const model = await admin.createModel({ name: 'priced', price: { price_per_million: '1' } });
    await admin.call('POST', `/models/${model}/enable`);
    const second = await admin.createModel({ name: 'other', price: { price_per_million: '1' } });
    await admin.call('POST', `/models/${second}/enable`);
    const customer = await createCustomer(stage.tollgate);
    await subscribeWithKey(customer, { modelIds: [model] });
    const [key] = await customer.client.list('/keys');
    ids = { customer: customer.id, key: Number(key?.id), model, upstream };
    await admin.call('POST', '/budgets', {
      scope: { key_id: ids.key },
      unit: 'money',
      amount: '5',
      period: 'day',
    });
    const credentials = { username: customer.username, password: customer.password };
    for (const [who, of] of Object.entries({ admin: adminCredentials, customer: credentials }))
      visitors.set(who, await stage.open({ credentials: of, language: 'zh' }));
    visitors.set('guest', await stage.open({ language: 'zh' }));
  }, START_MS);

  afterAll(() => stage?.close());

  const forms = [
    ...ADMIN_FORMS.map((form) => ['admin', form] as const),
    ...CUSTOMER_FORMS.map((form) => ['customer', form] as const),
    ...GUEST_FORMS.map((form) => ['guest', form] as const),
  ].map(([who, form]) => [form.file, form.press.join(' > '), who, form] as const);

  const isRefused = (answer: { status: () => number }) => [400, 409, 422].includes(answer.status());

  test.each(forms)(
    'says in Chinese what is wrong, once and at its field: %s %s',
    async (_file, _press, who, form: WrongForm) => {
      const { page, go } = visitors.get(who) as Visitor;
      await go(form.path(ids));
      const opened = await openForm(page, form);
      await sendWrong(opened, 'console');
      const first = await faultsOf(opened);
      const refused = page.waitForResponse(isRefused);
      await sendWrong(opened, 'server');
      await refused;
      const second = await faultsOf(opened);
      for (const { fields, whole } of [first, second]) {
        expect(fields.length).toBeGreaterThan(0);
        expect(fields.filter((text) => !HAN.test(text))).toEqual([]);
        // The form does not repeat what its fields say.
        expect(whole).toEqual([]);
      }
    },
    FORM_MS,
  );
});

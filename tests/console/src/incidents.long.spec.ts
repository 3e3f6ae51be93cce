import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  createCustomer,
  createRoutedModel,
  letPass,
  subscribeWithKey,
  type Customer,
  type RoutedModel,
} from '@tollgate/harness';
import { browser, startStage, violationsOn, WITHOUT, type Stage } from './stage.ts';

const START_MS = 120_000;
const STORY_MS = 90_000;
const KEY = 'a-key-that-is-the-operators';
const HTML = '<img src=x onerror="document.title=1">';

(browser === undefined ? describe.skip : describe)(`an incident in the console${WITHOUT}`, () => {
  let stage: Stage;
  let provider: Server;
  let failing: RoutedModel;
  let working: RoutedModel;
  let customer: Customer;
  let key: string;

  beforeAll(async () => {
    stage = await startStage({ ERROR_EXCERPTS: 'on' });
    provider = createServer((incoming, response) => {
      incoming.resume();
      response.writeHead(418).end(`${HTML} of ${incoming.headers.authorization}`);
    });
    await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
    const { port } = provider.address() as AddressInfo;
    const upstream = { base_url: `http://127.0.0.1:${port}/v1`, api_key: KEY };
    const { tollgate } = stage;
    failing = await createRoutedModel(tollgate, {
      name: 'failing-model',
      protocols: ['openai'],
      upstream,
    });
    working = await createRoutedModel(tollgate, { name: 'working-model' });
    customer = await createCustomer(tollgate, { username: 'caller' });
    await tollgate.admin.syncAll();
    key = await subscribeWithKey(customer, { modelIds: [failing.id, working.id] });
  }, START_MS);

  afterAll(async () => {
    provider?.close();
    await stage?.close();
  }, START_MS);

  const call = async (model: string): Promise<string> => {
    const answer = await fetch(`${stage.address}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
    });
    await answer.text();
    return answer.headers.get('x-request-id') ?? '';
  };

  test(
    "one failing request of one user is found in three clicks, and its page has the upstream's answer as text, without the key",
    async () => {
      for (let index = 0; index < 3; index += 1) await call(working.name);
      const rid = await call(failing.name);
      const { page, complaints, context, go } = await stage.open({
        credentials: stage.tollgate.adminCredentials,
      });
      await go('/admin/users');
      await page.getByRole('link', { name: 'caller' }).first().click();
      await page.getByRole('tab', { name: 'Usage' }).click();
      await page.getByText('Not completed', { exact: true }).click();
      const row = page.getByRole('row').filter({ hasText: failing.name });
      await row
        .getByText(/^\d{3} .+ \(418\)$/)
        .locator('visible=true')
        .waitFor();
      expect(await page.getByRole('row').filter({ hasText: working.name }).count()).toBe(0);
      await row.getByRole('link').first().click();
      await page.waitForURL(new RegExp(rid));
      const excerpt = page.getByRole('region', { name: /^Answers of failing upstreams/ });
      expect(await excerpt.textContent()).toBe(`${HTML} of [redacted]`);
      expect(await excerpt.locator('img').count()).toBe(0);
      expect(await violationsOn(page)).toEqual([]);
      expect(complaints).toEqual([]);
      await context.close();
    },
    STORY_MS,
  );

  test(
    'a refused request is listed with status and reason, and its page says why, in Chinese and to its own user',
    async () => {
      const rid = await call('no-such-model');
      const { page, complaints, context, go } = await stage.open({
        credentials: { username: customer.username, password: customer.password },
        language: 'zh',
      });
      await go('/usage?list=refused');
      const row = page.getByRole('row').filter({ hasText: 'no-such-model' });
      await row.getByText('404 model_not_found').waitFor();
      await page.getByText('被拒绝总数').waitFor();
      await row.getByRole('link').first().click();
      await page.waitForURL(new RegExp(rid));
      await page.getByText('此请求在开始前被拒绝').waitFor();
      await page.getByText('The model `no-such-model` does not exist').waitFor();
      expect(await page.getByText('node-1').count()).toBe(0);
      expect(await violationsOn(page)).toEqual([]);
      expect(complaints).toEqual([]);
      await context.close();
    },
    STORY_MS,
  );

  test(
    'a request that runs is shown with its seconds and tokens, and ended with a reason that stands in the activity log',
    async () => {
      const slow = await createRoutedModel(stage.tollgate, {
        name: 'slow-model',
        upstreamModel: 'demo-slow',
      });
      await stage.tollgate.admin.syncAll();
      await customer.client.subscribe({ model_id: slow.id, tokens: 1_000_000 });
      const answer = await fetch(`${stage.address}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: slow.name,
          stream: true,
          messages: [{ role: 'user', content: '@demo tokens=20000' }],
        }),
      });
      const whole = answer.text().then(
        () => 'whole',
        () => 'cut',
      );
      const { page, complaints, context, go } = await stage.open({
        credentials: stage.tollgate.adminCredentials,
      });
      await go('/admin/usage?list=running');
      const row = page.getByRole('row').filter({ hasText: slow.name });
      await row.getByText('caller').waitFor();
      await row.getByText('node-1').waitFor();
      await row.getByText(/^[1-9]\d*$/).waitFor();
      expect(await violationsOn(page)).toEqual([]);
      await row.getByRole('button', { name: 'End it' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Reason').fill('it runs away');
      await dialog.getByRole('button', { name: 'End it' }).click();
      expect(await whole).toBe('cut');
      // Its upstream bills on, so what it used is read for a while.
      await row.getByText('Ending').waitFor();
      await go('/admin/activity');
      await page.getByText('Request ended').locator('visible=true').first().waitFor();
      expect(complaints).toEqual([]);
      await context.close();
    },
    STORY_MS,
  );

  test(
    'a tab asks at most once a second, however many requests end',
    async () => {
      const { page, context, go } = await stage.open({
        credentials: stage.tollgate.adminCredentials,
      });
      await go('/admin/usage');
      await page.getByRole('row').filter({ hasText: 'caller' }).first().waitFor();
      const stop = new AbortController();
      const traffic = (async () => {
        while (!stop.signal.aborted) await Promise.all([1, 2, 3].map(() => call(working.name)));
      })();
      const asked: string[] = [];
      await letPass(2_000, 'the page has asked for all that it shows');
      page.on('request', (request) => asked.push(new URL(request.url()).pathname));
      await letPass(15_000, 'the time in which requests are counted');
      stop.abort();
      await traffic;
      expect(asked).toEqual(
        expect.arrayContaining(['/admin-api/usage/logs', '/admin-api/usage/statistics']),
      );
      expect(asked.length).toBeGreaterThanOrEqual(8);
      expect(asked.length).toBeLessThanOrEqual(16);
      await context.close();
    },
    STORY_MS,
  );
});

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createCustomer, createRoutedModel, type Customer } from '@tollgate/harness';
import type { Page } from 'playwright-core';
import { browser, startStage, WITHOUT, type Stage } from './stage.ts';

const START_MS = 120_000;
const STORY_MS = 180_000;
const PREFIX = '/tools/tollgate';
const TABS_MAX = 80;

(browser === undefined ? describe.skip : describe)(`the console${WITHOUT}`, () => {
  let stage: Stage;
  let customer: Customer;
  let proxy: Server;
  let prefixed: string;

  beforeAll(async () => {
    stage = await startStage();
    const model = await createRoutedModel(stage.tollgate, { name: 'reached' });
    await stage.tollgate.admin.syncAll();
    customer = await createCustomer(stage.tollgate);
    await customer.client.subscribe({ model_id: model.id, tokens: 1_000_000 });
    proxy = await startPrefixProxy(stage.address);
    prefixed = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  }, START_MS);

  afterAll(async () => {
    proxy?.close();
    proxy?.closeAllConnections();
    await stage?.close();
  }, START_MS);

  test(
    'leads from registration to the first call by keyboard alone, with the focus seen and given back',
    async () => {
      const { page } = await stage.open();
      await page.goto(`${stage.address}/register`);
      await tabTo(page, 'Username');
      await page.keyboard.type('by-keyboard');
      await tabTo(page, 'Password');
      await page.keyboard.type('a sentence to remember');
      await page.keyboard.press('Enter');
      await page.getByText('Waiting for approval').waitFor();
      const [registered] = await stage.tollgate.admin.list('/users?q=by-keyboard');
      await stage.tollgate.admin.approve(Number(registered?.id));
      await page.getByRole('heading', { name: 'First steps' }).waitFor();

      await tabTo(page, 'Recharge');
      await page.keyboard.press('Enter');
      await focusInDialog(page);
      expect(await focused(page)).toBe('Amount');
      await page.keyboard.press('Control+a');
      await page.keyboard.type('50');
      await page.keyboard.press('Enter');
      await page.getByText('USD 50.00 is in the wallet').waitFor();
      await dialogGone(page);

      await goByPalette(page, 'Models');
      await tabTo(page, 'Subscribe');
      await page.keyboard.press('Enter');
      await focusInDialog(page);
      await page.getByText('Wallet after').waitFor();
      await tabTo(page, 'Subscribe');
      await page.keyboard.press('Enter');
      await page.getByText(/tokens of reached bought/).waitFor();
      await dialogGone(page);

      await goByPalette(page, 'API keys');
      await tabTo(page, 'Create key');
      expect(await isFocusVisible(page)).toBe(true);
      await page.keyboard.press('Enter');
      await tabTo(page, 'Name');
      await page.keyboard.type('by keyboard');
      await page.keyboard.press('Enter');
      await page.getByText('Waiting for the first call').waitFor();
      await page.keyboard.press('Escape');
      await dialogGone(page);
      expect(await focused(page)).toBe('Create key');
      await page.getByRole('link', { name: 'by keyboard' }).waitFor();

      await goByPalette(page, 'Playground');
      await tabTo(page, 'Message');
      await page.keyboard.type('Hi');
      await page.keyboard.press('Enter');
      await page.getByText(/tokens charged/).waitFor();
      await tabTo(page, 'See the request');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Charge', exact: true }).waitFor();
    },
    STORY_MS,
  );

  test(
    'keeps what is typed while the palette is still on its way',
    async () => {
      const { username, password } = customer;
      const { page, go } = await stage.open({ credentials: { username, password } });
      const { promise: isTyped, resolve: release } = Promise.withResolvers<void>();
      await page.route(/\/palette-[^/]*\.js$/, async (route) => {
        await isTyped;
        await route.continue();
      });
      await go('/');
      await page.keyboard.press('Control+k');
      await page.keyboard.type('Wallett');
      await page.keyboard.press('Backspace');
      release();
      const box = page.locator('[role=dialog] input[role=combobox]:focus');
      await box.waitFor();
      await page.getByRole('option', { name: 'Wallet' }).waitFor();
      expect(await box.inputValue()).toBe('Wallet');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Wallet', exact: true }).waitFor();
    },
    STORY_MS,
  );

  test(
    'says on each page what comes next, until the first call is made and fills the window of its key',
    async () => {
      const newcomer = await createCustomer(stage.tollgate, { amount: '5' });
      const { username, password } = newcomer;
      const { page, go } = await stage.open({ credentials: { username, password } });
      await go('/wallet');
      await page.getByText('Next: subscribe to a model').waitFor();
      const [model] = await newcomer.client.list('/models/market');
      await newcomer.client.subscribe({ model_id: Number(model?.id), tokens: 2_000 });
      await go('/market');
      await page.getByText('Next: create a key').waitFor();
      const settings = { name: 'n', allowed_models: '*', rpm: 0, rpd: 50 };
      const { key } = await newcomer.client.createKey(settings);
      await go('/keys');
      await page.getByText('Next: make the first call').waitFor();
      const answer = await fetch(`${stage.address}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: model?.name, messages: [{ role: 'user', content: 'Hi' }] }),
      });
      expect(answer.status).toBe(200);
      // The page notices by itself.
      await page.getByText('Next: make the first call').waitFor({ state: 'detached' });
      await page.getByText('1 of 50 / day').waitFor();
    },
    STORY_MS,
  );

  test(
    'offers no recharge that would be refused: without a payment provider it says who credits the wallet',
    async () => {
      const { username, password } = await createCustomer(stage.tollgate, { amount: '0' });
      const { page, go } = await stage.open({ credentials: { username, password } });
      await page.route(/\/admin-api\/wallet\?/, async (route) => {
        const answer = await route.fetch();
        await route.fulfill({
          response: answer,
          json: { ...(await answer.json()), payments: 'none' },
        });
      });
      const reason = 'No payment provider is set up; an administrator can credit the wallet';
      await go('/');
      await page.getByRole('heading', { name: 'First steps' }).waitFor();
      await page.getByText(reason).waitFor();
      expect(await page.getByRole('link', { name: 'Recharge', exact: true }).count()).toBe(0);
      await go('/market');
      await page.getByText(reason).waitFor();
      await go('/wallet?recharge=1');
      await page.getByRole('button', { name: 'Recharge', exact: true, disabled: true }).waitFor();
      expect(await page.locator('[role=dialog]:not([data-type])').count()).toBe(0);
    },
    STORY_MS,
  );

  test(
    'works below a path: pages, links, reload, sign-in, a model call, the stream of events',
    async () => {
      const home = `${prefixed}${PREFIX}/`;
      const { page, complaints } = await stage.open({ address: prefixed });
      await page.goto(`${home}usage?show=requests`);
      await page.getByLabel('Username').fill(customer.username);
      await page.getByLabel('Password', { exact: true }).fill(customer.password);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
      expect(page.url()).toBe(`${home}usage?show=requests`);
      complaints.length = 0;

      const link = (name: string) =>
        page.getByRole('navigation', { name: 'Navigation' }).getByRole('link', { name });
      await link('API keys').click();
      await page.getByRole('heading', { name: 'API keys' }).waitFor();
      expect(page.url()).toBe(`${home}keys`);
      await page.reload();
      await page.getByRole('heading', { name: 'API keys' }).waitFor();

      await link('Playground').click();
      await page.getByLabel('Message').fill('Hi');
      await page.keyboard.press('Enter');
      await page.getByText(/tokens charged/).waitFor();
      await link('Overview').click();
      await page.getByText('Live').first().waitFor();
      expect(complaints).toEqual([]);
    },
    STORY_MS,
  );
});

/** Returns what the keyboard is at, by the name a screen reader says. */
function focused(page: Page): Promise<string> {
  return page.evaluate<string>(`(() => {
    const element = document.activeElement;
    if (!element) return '';
    const label = element.getAttribute('aria-label') ?? element.labels?.[0]?.innerText ?? element.innerText;
    return (label ?? '').trim();
  })()`);
}

async function tabTo(page: Page, name: string): Promise<void> {
  for (let tabs = 0; tabs < TABS_MAX; tabs += 1) {
    if ((await focused(page)) === name) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`${name} is not reached by ${TABS_MAX} tabs`);
}

/** Waits until a dialog has taken the focus; notices are dialogs of their own. */
async function focusInDialog(page: Page): Promise<void> {
  await page.locator('[role=dialog]:not([data-type]) :focus').waitFor();
}

/** Waits until a dialog has given the focus back. */
async function dialogGone(page: Page): Promise<void> {
  await page.locator('[role=dialog]:not([data-type])').waitFor({ state: 'detached' });
}

function isFocusVisible(page: Page): Promise<boolean> {
  return page.evaluate<boolean>(
    "getComputedStyle(document.activeElement).outlineStyle !== 'none' && document.activeElement.matches(':focus-visible')",
  );
}

async function goByPalette(page: Page, name: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.locator('[role=dialog] input[role=combobox]:focus').waitFor();
  await page.keyboard.type(name);
  await page.getByRole('option', { name }).first().waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name, exact: true }).waitFor();
}

/** Starts a reverse proxy as docs/console.md describes one: it takes the prefix off and passes the Host on. */
async function startPrefixProxy(target: string): Promise<Server> {
  const { hostname, port } = new URL(target);
  const server = createServer((incoming, outgoing) => {
    const { url = '/', method, headers } = incoming;
    if (!url.startsWith(`${PREFIX}/`)) return outgoing.writeHead(404).end();
    const passed = request(
      { hostname, port, method, headers, path: url.slice(PREFIX.length) },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

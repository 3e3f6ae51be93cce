import { loadavg } from 'node:os';
import pg from 'pg';
import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { startDemoStage, type DemoStage } from './demo-stage.ts';

const ROUNDS = 9;
const ROWS = 100_000;
const POINTS = { groups: 7, hours: 1_429 };
/** As many as come in half an hour at one every three seconds. */
const EVENTS = 600;
const EVENTS_APART_MS = 100;

/** `npm run bench -- console`: what docs/console.md promises, measured in a browser against a real installation. */
async function main(): Promise<void> {
  const stage = await startDemoStage();
  try {
    print(
      `load average before: ${loadavg()
        .map((load) => load.toFixed(1))
        .join(', ')}`,
    );
    await measureScript(stage);
    await measureViews(stage);
    await measureLongList(stage);
    await measureChart(stage);
    await measureMemory(stage);
    print(
      `load average after: ${loadavg()
        .map((load) => load.toFixed(1))
        .join(', ')}`,
    );
  } finally {
    await stage.close();
  }
}

/** Script of the first page, as gzip sends it. */
async function measureScript(stage: DemoStage): Promise<void> {
  for (const [name, path] of [
    ['sign-in', '/login'],
    ['overview', '/'],
  ] as const) {
    const { page, context } = await openPage(stage, path === '/');
    await context.setExtraHTTPHeaders({ 'accept-encoding': 'gzip' });
    let bytes = 0;
    page.on('response', async (response) => {
      if (response.request().resourceType() === 'script')
        bytes += Number((await response.allHeaders())['content-length'] ?? 0);
    });
    await page.goto(`${stage.address}${path}`);
    await page.locator('h1').first().waitFor();
    await page.waitForTimeout(1_000);
    print(`script of ${name}: ${Math.round(bytes / 1000)} kB gzip`);
    await context.close();
  }
}

/** From the address to the first heading with an empty cache, then from a click to the next page's heading. */
async function measureViews(stage: DemoStage): Promise<void> {
  const first: number[] = [];
  const next: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { page, context } = await openPage(stage, true);
    const start = performance.now();
    await page.goto(`${stage.address}/`, { waitUntil: 'commit' });
    await page.getByText('Tokens left').first().waitFor();
    first.push(performance.now() - start);
    await page.waitForLoadState('networkidle', { timeout: 3_000 }).catch(() => {});
    for (const name of ['Usage', 'API keys', 'Wallet']) next.push(await timeClick(page, name));
    await context.close();
  }
  report('first view', first);
  report('next page', next);
}

/** In the page itself: the driver's own round trips are not the console's. */
async function timeClick(page: Page, name: string): Promise<number> {
  const link = page.getByRole('navigation', { name: 'Navigation' }).getByRole('link', { name });
  await link.hover();
  await page.waitForTimeout(200);
  return page.evaluate<number>(`new Promise((resolve) => {
    const name = ${JSON.stringify(name)};
    const link = [...document.querySelectorAll('nav a')].find((one) => one.textContent.trim() === name);
    const start = performance.now();
    const look = () => {
      if (document.querySelector('h1')?.textContent === name)
        requestAnimationFrame(() => resolve(performance.now() - start));
      else requestAnimationFrame(look);
    };
    link.click();
    look();
  })`);
}

async function measureLongList(stage: DemoStage): Promise<void> {
  const database = new pg.Client({ connectionString: stage.tollgate.databaseUrl });
  await database.connect();
  await database.query(
    `INSERT INTO users (username, password_hash, status) SELECT 'row-' || n, '-', 'active' FROM generate_series(1, ${ROWS}) n`,
  );
  await database.query('ANALYZE users');
  await database.end();
  const { page, context } = await openPage(stage, false, true);
  await page.goto(`${stage.address}/admin/users`);
  await page.getByRole('link', { name: /^row-/ }).first().waitFor();
  const paging: number[] = [];
  const filtering: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    paging.push(await timeChange(page, () => page.getByRole('button', { name: 'Next' }).click()));
    const text = `row-9${round}${round}`;
    const box = page.getByRole('searchbox');
    filtering.push(await timeChange(page, () => box.fill(text)));
    await timeChange(page, () => box.fill(''));
  }
  report(`next page of ${ROWS} rows`, paging);
  report(`filter ${ROWS} rows, with the pause of typing`, filtering);
  await context.close();
}

/** Until the first row is another, seen in the page itself. */
async function timeChange(page: Page, act: () => Promise<void>): Promise<number> {
  const changed = page.evaluate(`new Promise((resolve) => {
    const row = () => document.querySelector('tbody tr')?.textContent;
    const before = row();
    const look = () => (row() === before ? requestAnimationFrame(look) : resolve());
    look();
  })`);
  const start = performance.now();
  await act();
  await changed;
  return performance.now() - start;
}

/** A chart of some 10,000 points: seven models over 1,429 hours, answered in place of the server. */
async function measureChart(stage: DemoStage): Promise<void> {
  const { page, context } = await openPage(stage, true);
  const from = Math.floor(Date.now() / 3_600_000 - POINTS.hours) * 3_600_000;
  const at = (hour: number): string => new Date(from + hour * 3_600_000).toISOString();
  const rows = Array.from({ length: POINTS.hours * POINTS.groups }, (_, index) => ({
    at: at(Math.floor(index / POINTS.groups)),
    model_id: (index % POINTS.groups) + 1,
    model: `model-${(index % POINTS.groups) + 1}`,
    requests: (index * 7) % 50,
    errors: 0,
    input_tokens: 1,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    output_tokens: 1,
    charge: (index * 131) % 900,
    duration_ms: { p50: 1, p95: 2 },
    first_token_ms: { p50: 1, p95: 2 },
  }));
  await page.route('**/admin-api/usage/statistics**', (route) =>
    route.fulfill({
      json: { from: at(0), to: at(POINTS.hours), interval: 'hour', group_by: 'model', data: rows },
    }),
  );
  await page.addInitScript(`window.draws = [];
    new PerformanceObserver((list) => {
      for (const { name, duration } of list.getEntries()) if (name === 'chart') window.draws.push(duration);
    }).observe({ type: 'measure' });`);
  await page.goto(`${stage.address}/usage`);
  await page.locator('canvas').first().waitFor();
  for (let round = 0; round < ROUNDS; round += 1) {
    await page
      .getByText(round % 2 === 0 ? 'Requests' : 'Charged tokens', { exact: true })
      .first()
      .click();
    await page.waitForTimeout(300);
  }
  const draws = await page.evaluate<number[]>('window.draws');
  report(`chart of ${rows.length} points`, draws);
  await context.close();
}

/** The heap of a live page after each part of half an hour's events, sent twenty times as fast. */
async function measureMemory(stage: DemoStage): Promise<void> {
  const { page, context } = await openPage(stage, false, true);
  await page.goto(`${stage.address}/admin`);
  await page.getByText('Live').first().waitFor();
  const session = await context.newCDPSession(page);
  const heaps = [await heapOf(session)];
  const { key } = await stage.tollgate.admin.createKey({
    name: 'bench',
    allowed_models: '*',
    rpm: 0,
  });
  for (let part = 0; part < 5; part += 1) {
    for (let event = 0; event < EVENTS / 5; event += 1) {
      void fetch(`${stage.address}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: 'Hi' }] }),
      }).then((answer) => answer.arrayBuffer());
      await page.waitForTimeout(EVENTS_APART_MS);
    }
    heaps.push(await heapOf(session));
  }
  print(`heap of a live page after each fifth of ${EVENTS} events, MB: ${heaps.join(', ')}`);
  await context.close();
}

async function heapOf(session: CDPSession): Promise<string> {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return (usedSize / 1e6).toFixed(1);
}

async function openPage(
  stage: DemoStage,
  isUser: boolean,
  isAdmin = false,
): Promise<{ page: Page; context: BrowserContext }> {
  if (isAdmin) return stage.open({ credentials: stage.tollgate.adminCredentials });
  return stage.open(isUser ? { credentials: stage.user } : {});
}

function report(name: string, times: readonly number[]): void {
  const sorted = times.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  print(
    `${name}: median ${Math.round(median)} ms, worst ${Math.round(sorted.at(-1) ?? 0)} ms of ${sorted.length}`,
  );
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();

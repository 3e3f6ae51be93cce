import { loadavg } from 'node:os';
import pg from 'pg';
import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { startDemoStage, type DemoStage } from './demo-stage.ts';

const ROUNDS = 9;
const ROWS = 100_000;
const POINTS = { groups: 7, hours: 1_429 };
/** Equals half an hour at one every three seconds. */
const EVENTS = 600;
const EVENTS_APART_MS = { soon: 100, real: 3_000 };

const PARTS: Readonly<Record<string, (stage: DemoStage) => Promise<void>>> = {
  script: measureScript,
  views: measureViews,
  list: measureLongList,
  chart: measureChart,
  memory: (stage) => measureMemory(stage, EVENTS_APART_MS.soon),
  'half-hour': (stage) => measureMemory(stage, EVENTS_APART_MS.real),
};

/** Runs `npm run bench -- console [part ...]`: measures the promises of docs/console.md in a browser against a real installation. Without a part it measures all but the real half hour. */
async function main(named: readonly string[]): Promise<void> {
  const unknown = named.find((name) => !(name in PARTS));
  if (unknown !== undefined)
    throw new Error(`There is no part ${unknown}; there are ${Object.keys(PARTS).join(', ')}.`);
  const chosen = named.length > 0 ? named : Object.keys(PARTS).filter((n) => n !== 'half-hour');
  const stage = await startDemoStage();
  try {
    for (const name of chosen) {
      await PARTS[name]?.(stage);
      print(`  load average after ${name}: ${(loadavg()[0] ?? 0).toFixed(1)}`);
    }
  } finally {
    await stage.close();
  }
}

/** Measures the script that a page asks for until it is shown, as gzip sends it: each file is asked for again, alone, because a browser names what it accepts itself. */
async function measureScript(stage: DemoStage): Promise<void> {
  const pages = [
    ['sign-in', '/login', 'form'],
    ['overview with its chart', '/', 'canvas'],
  ] as const;
  for (const [name, path, shown] of pages) {
    const { page, context } = await openPage(stage, path === '/');
    const files = new Set<string>();
    page.on('request', (request) => {
      if (request.resourceType() === 'script') files.add(request.url());
    });
    await page.goto(`${stage.address}${path}`);
    await page.locator(shown).first().waitFor();
    let bytes = 0;
    for (const file of files) {
      const answer = await context.request.get(file, { headers: { 'accept-encoding': 'gzip' } });
      bytes += Number(answer.headers()['content-length']);
    }
    print(`script of ${name}: ${Math.round(bytes / 1000)} kB gzip in ${files.size} files`);
    await context.close();
  }
}

/** Measures from the address to the first figures with an empty cache, then from a click until the next page stands, its data included. */
async function measureViews(stage: DemoStage): Promise<void> {
  const first: number[] = [];
  const next: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { page, context } = await openPage(stage, true);
    await page.goto(`${stage.address}/`, { waitUntil: 'commit' });
    // The page's own clock begins when the address is entered.
    first.push(await page.evaluate<number>(untilSeen("text('h2').includes('Tokens left')")));
    await page.locator('canvas').first().waitFor();
    for (const name of ['Usage', 'API keys', 'Wallet']) next.push(await timeClick(page, name));
    await context.close();
  }
  report('first view', first);
  report('next page', next);
}

/** Writes a script that answers the page's clock once `condition` holds and is painted. */
function untilSeen(condition: string): string {
  return `new Promise((resolve) => {
    const text = (tag) => [...document.querySelectorAll(tag)].map((one) => one.textContent);
    const look = () =>
      requestAnimationFrame(() => (${condition} ? requestAnimationFrame(() => resolve(performance.now())) : look()));
    look();
  })`;
}

/** Measures in the page itself: the driver's own round trips are not the console's. A link is pointed at before it is clicked, which is when its page begins to load. */
async function timeClick(page: Page, name: string): Promise<number> {
  const link = page.getByRole('navigation', { name: 'Navigation' }).getByRole('link', { name });
  await link.hover();
  await page.waitForTimeout(200);
  return page.evaluate<number>(`(async () => {
    const start = performance.now();
    [...document.querySelectorAll('nav a')].find((one) => one.textContent.trim() === '${name}').click();
    return await ${untilSeen(`text('h1')[0] === '${name}' && !document.querySelector('[aria-busy=true]')`)} - start;
  })()`);
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
  const paging: ListTime[] = [];
  const filtering: ListTime[] = [];
  const choosing: ListTime[] = [];
  // Nothing is asked for twice: what the browser knows already would be no measurement.
  for (let round = 0; round < ROUNDS; round += 1)
    paging.push(await timeChange(page, "button('Next').click()"));
  for (let round = 0; round < ROUNDS; round += 1)
    filtering.push(await timeChange(page, `fill('input[type=search]', 'row-9${round}${round}')`));
  await timeChange(page, "fill('input[type=search]', '')");
  for (const state of ['rejected', 'active', 'frozen', 'pending'])
    choosing.push(await timeChange(page, `fill('select', '${state}')`));
  reportList(`next page of ${ROWS} rows`, paging);
  reportList(`search in ${ROWS} rows, the pause of typing included`, filtering);
  reportList(`choose a state among ${ROWS} rows`, choosing);
  await context.close();
}

interface ListTime {
  all: number;
  /** Measures the part from the request to its answer; 0 when the browser knew the answer. */
  server: number;
}

/** Measures from an act until the first row is another and painted, seen in the page itself. */
function timeChange(page: Page, act: string): Promise<ListTime> {
  return page.evaluate<ListTime>(`new Promise((resolve) => {
    const button = (name) => [...document.querySelectorAll('button')].find((one) => one.textContent.trim() === name);
    const fill = (selector, value) => {
      const field = document.querySelector('main ' + selector);
      Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, value);
      field.dispatchEvent(new Event(field.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true }));
    };
    const row = () => [...document.querySelectorAll('tbody')].at(-1)?.querySelector('tr')?.textContent;
    const before = row();
    performance.clearResourceTimings();
    const start = performance.now();
    const look = () =>
      requestAnimationFrame(() => (row() === before ? look() : requestAnimationFrame(() => {
        const asked = performance.getEntriesByType('resource').findLast(({ name }) => name.includes('/users?'));
        resolve({ all: performance.now() - start, server: asked ? asked.responseEnd - asked.startTime : 0 });
      })));
    ${act};
    look();
  })`);
}

function reportList(name: string, times: readonly ListTime[]): void {
  report(
    name,
    times.map(({ all }) => all),
  );
  report(
    '  of it the server, with the way to it and back',
    times.map(({ server }) => server),
  );
}

/** Measures a chart of some 10,000 points: seven models over 1,429 hours, answered in place of the server. */
async function measureChart(stage: DemoStage): Promise<void> {
  const { page, context } = await openPage(stage, true);
  const rows = await answerWithPoints(page);
  await page.addInitScript(`window.draws = [];
    window.tasks = [];
    new PerformanceObserver((list) => {
      for (const { name, duration } of list.getEntries()) if (name === 'chart') window.draws.push(duration);
    }).observe({ type: 'measure' });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.tasks.push(duration);
    }).observe({ type: 'longtask' });`);
  await page.goto(`${stage.address}/usage`);
  await page.locator('canvas').first().waitFor();
  for (let round = 0; round < ROUNDS; round += 1) {
    const draws = await page.evaluate<number>('window.draws.length');
    await page
      .getByText(round % 2 === 0 ? 'Requests' : 'Charged tokens', { exact: true })
      .first()
      .click();
    await page.evaluate(untilSeen(`window.draws.length > ${draws}`));
  }
  report(`chart of ${rows} points`, await page.evaluate<number[]>('window.draws'));
  report('  longest tasks of the page meanwhile', await page.evaluate<number[]>('window.tasks'));
  await context.close();
}

async function answerWithPoints(page: Page): Promise<number> {
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
    cache_write_1h_tokens: 0,
    audio_input_tokens: 0,
    audio_output_tokens: 0,
    image_input_tokens: 0,
    image_output_tokens: 0,
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
  return rows.length;
}

/** Measures the heap of a live page after each fifth of half an hour's events, in that half hour or as fast as `apart` says. */
async function measureMemory(stage: DemoStage, apart: number): Promise<void> {
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
  const startedAt = performance.now();
  for (let part = 0; part < 5; part += 1) {
    for (let event = 0; event < EVENTS / 5; event += 1) {
      void fetch(`${stage.address}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: 'Hi' }] }),
      }).then((answer) => answer.arrayBuffer());
      await page.waitForTimeout(apart);
    }
    heaps.push(await heapOf(session));
  }
  const minutes = (performance.now() - startedAt) / 60_000;
  print(
    `heap of a live page after each fifth of ${EVENTS} events in ${minutes.toFixed(1)} minutes, MB: ${heaps.join(', ')}`,
  );
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

await main(process.argv.slice(2));

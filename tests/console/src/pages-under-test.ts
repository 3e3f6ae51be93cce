import pg from 'pg';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createCustomer, createRoutedModel, subscribeWithKey } from '@tollgate/harness';
import {
  browser,
  overflowOf,
  startStage,
  violationsOn,
  type Stage,
  type Visitor,
  type VisitorOptions,
} from './stage.ts';

export const START_MS = 120_000;

export const ROUND_MS = 240_000;

/** Every page there is: a new one is visited without being named here. */
const ROUTES = readFileSync(
  path.join(import.meta.dirname, '../../../apps/console/src/routes.ts'),
  'utf8',
);

const [, userPart = '', adminPart = ''] =
  /userPages([\s\S]*)adminPages([\s\S]*)$/.exec(ROUTES) ?? [];

const pathsIn = (part: string): string[] =>
  [...part.matchAll(/path: '([^']+)'/g)].map(([, found = '']) => found);

export const userPaths = pathsIn(userPart);

export const adminPaths = pathsIn(adminPart);

/** Has markup, a change of direction, and no space to break at: others may put these into a name. */
const HOSTILE = `<img src=x onerror="document.title='owned'">evil${'W'.repeat(60)}`;
/** Marks that turn text around are refused today; names of an earlier release may have them. */
const HOSTILE_OF_BEFORE = HOSTILE.replace('evil', '\u202Eevil\u2066');

interface Interception {
  fulfill: (answer: { status: number; contentType: string; body: string }) => Promise<void>;
  abort: () => Promise<void>;
}

export const problem =
  (status: number, code: string) =>
  (route: Interception): Promise<void> =>
    route.fulfill({
      status,
      contentType: 'application/problem+json',
      body: JSON.stringify({
        status,
        code,
        title: code,
        detail: code,
        errors: [],
        request_id: 'r',
      }),
    });

export const FAILURES: readonly [string, (route: Interception) => Promise<void>][] = [
  ['500', problem(500, 'internal_error')],
  ['429', problem(429, 'rate_limited')],
  ['a broken connection', (route) => route.abort()],
];

/** Skips tests where there is no browser. */
export const describeInBrowser = browser === undefined ? describe.skip : describe;

export let stage: Stage;

export let customer: { username: string; password: string };

/** Holds what the parameters of addresses are in this installation. */
const ids: Record<string, string> = {};

const addressOf = (pattern: string): string =>
  pattern
    .replace('/models/$id', `/models/${ids.model}`)
    .replace('/keys/$id', `/keys/${ids.key}`)
    .replace('/users/$id', `/users/${ids.user}`)
    .replace('/upstreams/$id', `/upstreams/${ids.upstream}`)
    .replace('$rid', ids.rid ?? '')
    .replace('$name', ids.name ?? '')
    .replace('$version', ids.version ?? '')
    .replace(/\$\w+/, '1');

/** Wider lines are hard to read; tables may use all (docs of the console). */
const CONTENT_MAX = 1_280;

/** Returns what of a page, tables aside, is wider than it may be, or outside the window. */
const boundsOf = (page: Visitor['page']): Promise<string[]> =>
  page.evaluate<
    string[]
  >(`[...document.querySelectorAll('main h1, main p, main form, main button, main dl')]
    .filter((element) => element.closest('table') === null && element.getClientRects().length > 0)
    .flatMap((element) => {
      const { left, right, width } = element.getBoundingClientRect();
      const isOut = left < 0 || right > innerWidth || width > ${CONTENT_MAX};
      return isOut ? [element.tagName + ' from ' + left + ' to ' + right] : [];
    })`);

/** Visits each address and lists what is wrong there; `isQuick` has axe look at the first one only. */
export const visit = async (
  { isQuick = false, ...options }: VisitorOptions & { isQuick?: boolean },
  paths: readonly string[],
): Promise<string[]> => {
  const visitor = await stage.open(options);
  const wrong: string[] = [];
  for (const pattern of paths) {
    await visitor.go(addressOf(pattern));
    // Nothing of it is still on its way.
    await visitor.page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
    const overflow = await overflowOf(visitor.page);
    wrong.push(
      ...(isQuick && pattern !== paths[0] ? [] : await violationsOn(visitor.page)).map(
        (text) => `${pattern}: axe: ${text}`,
      ),
      ...(isQuick ? await boundsOf(visitor.page) : []).map((text) => `${pattern}: ${text}`),
      ...visitor.complaints.splice(0).map((text) => `${pattern}: ${text}`),
      ...(overflow > 0 ? [`${pattern}: ${overflow} px wider than the window`] : []),
      ...((await visitor.page.title()) === 'owned' ? [`${pattern}: a name was run`] : []),
    );
  }
  await visitor.context.close();
  return wrong;
};

/** Opens each page in a tab of its own, a few at a time, and lists those where `isWell` does not come true. */
export const unwell = async (
  visitor: Visitor,
  patterns: readonly string[],
  isWell: (page: Visitor['page']) => Promise<unknown>,
  tabs = 4,
): Promise<string[]> => {
  const wrong: string[] = [];
  const waiting = [...patterns];
  const visitOne = async (): Promise<void> => {
    for (let pattern = waiting.shift(); pattern !== undefined; pattern = waiting.shift()) {
      const page = await visitor.context.newPage();
      await page.goto(`${stage.address}${addressOf(pattern)}`);
      const where = pattern;
      await isWell(page).catch(() => wrong.push(where));
      await page.close();
    }
  };
  await Promise.all(Array.from({ length: tabs }, visitOne));
  return wrong;
};

/** Returns every page with the account that sees it. */
export const everyPage = () =>
  [
    [customer, userPaths],
    [stage.tollgate.adminCredentials, adminPaths],
  ] as const;

// However long it takes on a busy machine: the promise is what is said, not when.
export const offersAgain = (page: Visitor['page']) =>
  page
    .getByRole('button', { name: 'Try again' })
    .first()
    .waitFor({ timeout: ROUND_MS / 2 });

/** Intercepts everything but who is signed in: pages behind the shell need an account. */
export async function interceptData(
  { context }: Visitor,
  answer: (route: Interception) => Promise<void>,
): Promise<void> {
  await context.route('**/admin-api/**', (route) =>
    route.request().url().includes('/auth/me') ? route.continue() : answer(route),
  );
}

async function renameAsBefore(connectionString: string): Promise<void> {
  const database = new pg.Client({ connectionString });
  await database.connect();
  for (const [table, column] of [
    ['models', 'display_name'],
    ['upstreams', 'name'],
    ['api_keys', 'name'],
  ])
    await database.query(`UPDATE ${table} SET ${column} = $2 WHERE ${column} = $1`, [
      HOSTILE,
      HOSTILE_OF_BEFORE,
    ]);
  await database.end();
}

/** Starts an installation whose records have names that attack a page; the spec calls it. */
export function shareStage(): void {
  beforeAll(async () => {
    stage = await startStage();
    const { tollgate } = stage;
    const model = await createRoutedModel(tollgate, {
      name: 'pages-model',
      display_name: HOSTILE,
      price_per_million: '1.5',
    });
    await tollgate.admin.call('PUT', `/models/${model.id}`, { description: HOSTILE.repeat(3) });
    const upstream = await tollgate.admin.createUpstream({
      name: HOSTILE,
      protocol: 'openai',
      base_url: `${tollgate.upstreamUrl}/v1`,
      api_key: 'k',
    });
    await tollgate.admin.call('POST', '/routing', {
      model_id: model.id,
      upstream_id: upstream,
      upstream_model: HOSTILE,
      priority: 9,
      weight: 1,
    });
    await tollgate.admin.syncAll();
    const made = await createCustomer(tollgate, { username: 'pages' });
    customer = { username: made.username, password: made.password };
    await tollgate.admin.call('POST', '/wallet/adjust', {
      user_id: made.id,
      amount: '1',
      note: HOSTILE.repeat(2),
    });
    const secret = await subscribeWithKey(made, {
      modelIds: [model.id],
      key: { name: HOSTILE, rpm: 100 },
    });
    const answer = await fetch(`${stage.address}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: model.name, messages: [{ role: 'user', content: 'Hi' }] }),
    });
    await answer.text();
    await renameAsBefore(tollgate.databaseUrl);
    const keys = await made.client.list('/keys');
    Object.assign(ids, {
      rid: answer.headers.get('x-request-id'),
      model: String(model.id),
      key: String(keys[0]?.id),
      user: String(made.id),
      upstream: String(upstream),
      name: 'node-1',
      version: String((await tollgate.admin.list('/snapshots?page_size=1'))[0]?.version),
    });
  }, START_MS);
  afterAll(() => stage?.close(), START_MS);
}

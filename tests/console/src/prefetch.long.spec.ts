import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page, Request } from 'playwright-core';
import { createCustomer, createRoutedModel, subscribeWithKey, until } from '@tollgate/harness';
import { browser, startStage, WITHOUT, type Stage } from './stage.ts';

const START_MS = 120_000;
const ROUND_MS = 240_000;
/** A visitor of each role stands here before pointing at another page. */
const FROM = { 'a user': '/settings', 'an administrator': '/admin/snapshots' } as const;
/** Lists the stream of events, and what is asked with another answer's words and so cannot be asked ahead. */
const NO_QUESTIONS = new Set(['/admin-api/events', '/admin-api/routing/simulation']);
const QUIET_MS = 400;
const ROLES = ['a user', 'an administrator'] as const;

(browser === undefined ? describe.skip : describe)(`pointing at a page's link${WITHOUT}`, () => {
  let stage: Stage;
  let customer: { username: string; password: string };

  beforeAll(async () => {
    stage = await startStage();
    const { tollgate } = stage;
    const model = await createRoutedModel(tollgate, { name: 'prefetched' });
    const created = await createCustomer(tollgate);
    customer = { username: created.username, password: created.password };
    await subscribeWithKey(created, { modelIds: [model.id], tokens: 1_000 });
  }, START_MS);

  afterAll(() => stage?.close());

  test.each(ROLES)(
    'asks for all that the page shows: the click of %s asks for nothing more',
    async (role) => {
      const credentials = role === 'a user' ? customer : stage.tollgate.adminCredentials;
      const { page, go } = await stage.open({ credentials });
      const from = FROM[role];
      await go(from);
      const links = await page.evaluate<string[]>(
        `[...document.querySelectorAll('nav[aria-label=Navigation] a')].filter((one) => one.checkVisibility()).map((one) => one.getAttribute('href'))`,
      );
      const requests = followRequests(page);
      const late: Record<string, string[]> = {};
      for (const link of links.filter((one) => one !== from)) {
        await go(from);
        await requests.untilQuiet();
        const pointed = page.locator(`nav[aria-label=Navigation] a[href="${link}"]`);
        requests.asked.length = 0;
        await pointed.hover();
        // Every page asks something; its code may take a while to load.
        await requests.untilAsked();
        await requests.untilQuiet();
        requests.asked.length = 0;
        await pointed.click();
        await page.waitForURL(({ pathname }) => pathname === link);
        await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
        await requests.untilQuiet();
        if (requests.asked.length > 0) late[link] = [...requests.asked];
      }
      expect(late).toEqual({});
    },
    ROUND_MS,
  );
});

interface Requests {
  /** Holds what was asked of the administration interface, in order. */
  asked: string[];
  untilAsked: () => Promise<void>;
  /** Until nothing is being asked, and nothing was for a moment. */
  untilQuiet: () => Promise<void>;
}

function followRequests(page: Page): Requests {
  const asked: string[] = [];
  const open = new Set<Request>();
  let lastAt = performance.now();
  const isQuestion = (request: Request): boolean => {
    const { pathname } = new URL(request.url());
    return pathname.startsWith('/admin-api/') && !NO_QUESTIONS.has(pathname);
  };
  page.on('request', (request) => {
    if (!isQuestion(request)) return;
    lastAt = performance.now();
    open.add(request);
    const { pathname, search } = new URL(request.url());
    asked.push(pathname + search);
  });
  const close = (request: Request): void => {
    if (open.delete(request)) lastAt = performance.now();
  };
  page.on('requestfinished', close);
  page.on('requestfailed', close);
  return {
    asked,
    untilAsked: async () => {
      await until('a request', () => asked.length > 0);
    },
    untilQuiet: async () => {
      lastAt = performance.now();
      await until(
        'no request runs',
        () => open.size === 0 && performance.now() - lastAt >= QUIET_MS,
      );
    },
  };
}

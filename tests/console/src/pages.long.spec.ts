import { expect, test } from '@jest/globals';
import { WITHOUT, type Visitor, type VisitorOptions } from './stage.ts';
import {
  adminPaths,
  customer,
  describeInBrowser,
  everyPage,
  FAILURES,
  interceptData,
  offersAgain,
  problem,
  ROUND_MS,
  shareStage,
  stage,
  START_MS,
  unwell,
  userPaths,
  visit,
} from './pages-under-test.ts';

shareStage();

describeInBrowser(`every page${WITHOUT}`, () => {
  test.each<VisitorOptions>([
    { width: 1440, theme: 'light' },
    { width: 390, theme: 'dark' },
    { width: 1440, theme: 'dark', language: 'zh' },
    { width: 390, theme: 'light', language: 'zh' },
  ])(
    'of a user is without errors, axe violations, foreign requests and overflow: %j',
    async (options) => {
      expect(await visit({ ...options, credentials: customer }, userPaths)).toEqual([]);
    },
    ROUND_MS,
  );

  test.each<VisitorOptions>([
    { width: 1440, theme: 'light' },
    { width: 390, theme: 'dark', language: 'zh' },
  ])(
    'of an administrator, in both hats: %j',
    async (options) => {
      const credentials = stage.tollgate.adminCredentials;
      const paths = [...adminPaths, ...userPaths.filter((pattern) => !pattern.includes('$'))];
      expect(await visit({ ...options, credentials }, paths)).toEqual([]);
    },
    ROUND_MS,
  );

  test(
    'stays within its bounds on a screen of 2,560 px, for a user and an administrator',
    async () => {
      const credentials = stage.tollgate.adminCredentials;
      const wide = { width: 2560, isQuick: true };
      expect(await visit({ ...wide, credentials: customer }, userPaths)).toEqual([]);
      expect(await visit({ ...wide, credentials }, adminPaths)).toEqual([]);
    },
    ROUND_MS,
  );

  test.each(FAILURES)(
    'says what to do when the interface answers with %s',
    async (_, answer) => {
      for (const [credentials, patterns] of everyPage()) {
        const visitor = await stage.open({ credentials });
        await interceptData(visitor, answer);
        expect(await unwell(visitor, patterns, offersAgain)).toEqual([]);
        await visitor.context.close();
      }
    },
    ROUND_MS,
  );

  test(
    'says what to do when the interface never answers',
    async () => {
      for (const [credentials, patterns] of everyPage()) {
        const visitor = await stage.open({ credentials });
        await interceptData(visitor, async () => {});
        expect(await unwell(visitor, patterns, offersAgain, patterns.length)).toEqual([]);
        await visitor.context.close();
      }
    },
    ROUND_MS,
  );

  test(
    'leads to sign in, and back to the same address, when the session has ended',
    async () => {
      for (const [credentials, patterns] of everyPage()) {
        const visitor = await stage.open({ credentials });
        await interceptData(visitor, problem(401, 'unauthenticated'));
        const isAtSignIn = async (page: Visitor['page']): Promise<void> => {
          await page.getByRole('heading', { name: 'Sign in' }).waitFor({ timeout: ROUND_MS / 2 });
          expect(new URL(page.url()).searchParams.get('next')).toBeTruthy();
        };
        expect(await unwell(visitor, patterns, isAtSignIn)).toEqual([]);
        await visitor.context.close();
      }
    },
    ROUND_MS,
  );

  test(
    'is served with a content policy that allows no inline script or style and no other host',
    async () => {
      const answer = await fetch(stage.address, { headers: { accept: 'text/html' } });
      const policy = answer.headers.get('content-security-policy') ?? '';
      expect(policy).toMatch(/default-src 'none'/);
      expect(policy).not.toMatch(/unsafe-inline|unsafe-eval|data:|https?:|\*/);
      const { page } = await stage.open();
      await page.goto(`${stage.address}/login`);
      // A script that is allowed runs while it is appended.
      const ran = await page.evaluate<boolean>(`(() => {
        const script = document.createElement('script');
        script.textContent = 'window.ran = true';
        document.body.append(script);
        return window.ran === true;
      })()`);
      expect(ran).toBe(false);
    },
    START_MS,
  );

  test(
    'sends who is not signed in to sign in, and back to the same address',
    async () => {
      const { page } = await stage.open();
      await page.goto(`${stage.address}/usage?show=requests`);
      await page.getByLabel('Username').fill(customer.username);
      await page.getByLabel('Password', { exact: true }).fill(customer.password);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
      expect(page.url()).toBe(`${stage.address}/usage?show=requests`);
    },
    START_MS,
  );

  test(
    'a user is not shown administration',
    async () => {
      const visitor = await stage.open({ credentials: customer });
      await visitor.go('/admin');
      expect(new URL(visitor.page.url()).pathname).toBe('/');
    },
    START_MS,
  );
});

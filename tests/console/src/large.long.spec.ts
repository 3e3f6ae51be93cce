import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createCustomer } from '@tollgate/harness';
import { seedLarge } from '@tollgate/tools';
import { browser, startStage, WITHOUT, type Stage, type Visitor } from './stage.ts';

/** Creating some 1,400 objects takes minutes on a busy machine. */
const START_MS = 600_000;
const STORY_MS = 120_000;
/** Is three screens of 900 pixels. */
const HEIGHT_MAX = 2_700;

(browser === undefined ? describe.skip : describe)(`a large installation${WITHOUT}`, () => {
  let stage: Stage;
  let visitor: Visitor;

  beforeAll(async () => {
    stage = await startStage();
    const { tollgate } = stage;
    const { username, password } = await createCustomer(tollgate);
    await seedLarge(tollgate.admin, {
      user: { username, password },
      upstreamUrl: tollgate.upstreamUrl,
      baseUrl: stage.address,
    });
    visitor = await stage.open({ credentials: tollgate.adminCredentials });
  }, START_MS);

  afterAll(() => stage?.close());

  const rows = (table: string) =>
    visitor.page.getByRole('table', { name: table }).locator('tbody tr');
  const group = (name: string) => visitor.page.getByRole('button', { name, expanded: false });

  test(
    'has no page above three screens: folded, open or searched',
    async () => {
      const tall: string[] = [];
      for (const path of [
        '/admin',
        '/admin/routing',
        '/admin/routing?by=upstream',
        '/admin/routing?q=chat',
        '/admin/models',
        '/admin/models?open=oak',
        '/admin/models?sort=-price',
        '/admin/upstreams',
        '/admin/upstreams/3',
        '/admin/nodes',
        '/admin/nodes?open=offline',
        '/market',
      ]) {
        await visitor.go(path);
        await visitor.page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
        const height = await visitor.page.evaluate<number>('document.documentElement.scrollHeight');
        if (height > HEIGHT_MAX) tall.push(`${path}: ${height}`);
      }
      expect(tall).toEqual([]);
      expect(visitor.complaints).toEqual([]);
    },
    STORY_MS,
  );

  test(
    'folds routes by model and by upstream, and finds the last of them',
    async () => {
      const { page, go } = visitor;
      await go('/admin/routing');
      // The demo has three routes of two models.
      await page.getByText('1,003 in 302 groups').waitFor();
      expect(await rows('Routing').count()).toBe(25);
      await group('alder-chat-001').click();
      expect(await rows('Routing').filter({ hasText: 'demo-ok' }).count()).toBe(4);
      expect(new URL(page.url()).searchParams.get('open')).toBeTruthy();
      await page.getByText('By upstream').click();
      await group('large-20').waitFor();
      await page.getByRole('searchbox', { name: 'Search by model' }).fill('pine-vision-240');
      await rows('Routing').filter({ hasText: 'pine-vision-240' }).first().waitFor();
      await page.getByText('1,003 in').waitFor({ state: 'detached' });
      expect(await rows('Routing').count()).toBe(3);
    },
    STORY_MS,
  );

  test(
    'shows an enabled route without traffic as one without traffic, and finds those that are not used',
    async () => {
      const { page, go } = visitor;
      await go('/admin/routing?q=alder-chat-001');
      const badges = rows('Routing').locator('td:nth-child(8)');
      await badges.first().waitFor();
      expect(await badges.allInnerTexts()).toEqual([
        'Healthy',
        'No traffic',
        'No traffic',
        'No traffic',
      ]);
      await go('/admin/routing');
      await page.getByLabel('State').selectOption({ label: 'Not used' });
      await badges.getByText('Not used').nth(24).waitFor();
      expect(new Set(await badges.allInnerTexts())).toEqual(new Set(['Not used']));
    },
    STORY_MS,
  );

  test(
    'finds the last model, upstream and node by a word, and shows every state of nodes at a glance',
    async () => {
      const { page, go } = visitor;
      for (const { path, table, word } of [
        { path: '/admin/models', table: 'Models', word: 'pine-vision-240' },
        { path: '/admin/upstreams', table: 'Upstreams', word: 'large-20' },
        { path: '/admin/nodes', table: 'Nodes', word: 'large-48' },
      ]) {
        await go(path);
        await page.getByRole('searchbox').fill(word);
        await rows(table).filter({ hasText: word }).waitFor();
        expect(await rows(table).count()).toBe(1);
      }
      await go('/admin/nodes');
      await group('Offline').waitFor();
      await group('Online').waitFor();
    },
    STORY_MS,
  );
});

import type { Page } from 'playwright-core';

export interface Picture {
  /** Names its file in docs/tour. */
  name: string;
  who: 'user' | 'admin' | 'visitor';
  /** Is a path in which `:model`, `:user` and so on mean the first of their kind. */
  path: string;
  isNarrow?: boolean;
  theme?: 'light' | 'dark';
  language?: 'en' | 'zh';
  /** Acts before the picture is taken, e.g. opens a dialog. */
  act?: (page: Page) => Promise<unknown>;
}

const press = (name: string) => (page: Page) =>
  page.getByRole('button', { name, exact: true }).first().click();

const userPages: readonly Picture[] = [
  // This is first: each picture is a session more.
  { name: 'settings', who: 'user', path: '/settings' },
  { name: 'overview', who: 'user', path: '/' },
  { name: 'models', who: 'user', path: '/market' },
  {
    name: 'buy',
    who: 'user',
    path: '/market',
    act: async (page) => {
      await press('Buy tokens')(page);
      await page.getByText('Wallet after').waitFor();
    },
  },
  { name: 'subscription', who: 'user', path: '/models/:model' },
  { name: 'purchases', who: 'user', path: '/models/:model?tab=purchases' },
  {
    name: 'unsubscribe',
    who: 'user',
    path: '/models/:model',
    act: async (page) => {
      await press('Unsubscribe')(page);
      await page.getByText('Wallet after').waitFor();
    },
  },
  { name: 'keys', who: 'user', path: '/keys' },
  {
    name: 'key-created',
    who: 'user',
    path: '/keys?create=1',
    act: async (page) => {
      const dialog = page.locator('[role=dialog]:not([data-type])');
      await dialog.getByLabel('Name').fill('laptop');
      await dialog.getByRole('button', { name: 'Create key' }).click();
      await page.getByTestId('secret').waitFor();
    },
  },
  { name: 'usage', who: 'user', path: '/usage' },
  { name: 'request', who: 'user', path: '/usage/:rid' },
  { name: 'wallet', who: 'user', path: '/wallet' },
  {
    name: 'playground',
    who: 'user',
    path: '/playground',
    act: async (page) => {
      await page.getByLabel('Message').fill('Write a polite reminder about an unpaid invoice.');
      await press('Send')(page);
      await page.getByText(/tokens charged/).waitFor();
    },
  },
];

const adminPages: readonly Picture[] = [
  { name: 'admin-overview', who: 'admin', path: '/admin' },
  { name: 'admin-usage', who: 'admin', path: '/admin/usage?group=user' },
  { name: 'admin-users', who: 'admin', path: '/admin/users' },
  { name: 'admin-user', who: 'admin', path: '/admin/users/:user' },
  { name: 'admin-models', who: 'admin', path: '/admin/models' },
  { name: 'admin-model', who: 'admin', path: '/admin/models/:model' },
  { name: 'admin-upstream', who: 'admin', path: '/admin/upstreams/:upstream' },
  { name: 'admin-routing', who: 'admin', path: '/admin/routing' },
  {
    name: 'admin-sync',
    who: 'admin',
    path: '/admin/nodes',
    act: async (page) => {
      const { origin } = new URL(page.url());
      const changed = await page.context().request.put(`${origin}/admin-api/models/1`, {
        data: { context_window: 64_000 },
        headers: { origin },
      });
      if (!changed.ok()) throw new Error(await changed.text());
      await press('Sync all nodes')(page);
      await page.getByRole('listitem').filter({ hasText: 'node-2' }).waitFor();
    },
  },
  { name: 'admin-configurations', who: 'admin', path: '/admin/snapshots' },
  { name: 'admin-alerts', who: 'admin', path: '/admin/alerts' },
  { name: 'admin-activity', who: 'admin', path: '/admin/activity' },
  { name: 'admin-books', who: 'admin', path: '/admin/books' },
];

const named = (name: string): Picture => {
  const picture = [...userPages, ...adminPages].find((one) => one.name === name);
  if (!picture) throw new Error(`there is no picture ${name}`);
  return picture;
};
const inDark = (name: string): Picture => ({
  ...named(name),
  name: `${name}-dark`,
  theme: 'dark',
});
const narrow = (name: string, theme: 'light' | 'dark' = 'light'): Picture => ({
  ...named(name),
  name: `${name}-narrow${theme === 'dark' ? '-dark' : ''}`,
  isNarrow: true,
  theme,
});

/** Lists every page wide and light; those that show most also dark, narrow, and in Chinese. */
export const PICTURES: readonly Picture[] = [
  { name: 'sign-in', who: 'visitor', path: '/login' },
  ...userPages,
  ...adminPages,
  ...['overview', 'usage', 'request', 'key-created'].map(inDark),
  ...['admin-overview', 'admin-routing', 'admin-books'].map(inDark),
  ...['overview', 'models', 'subscription', 'keys', 'wallet'].map((name) => narrow(name)),
  ...['usage', 'request', 'playground', 'admin-overview'].map((name) => narrow(name, 'dark')),
  { ...named('overview'), name: 'overview-zh', language: 'zh' },
  { ...named('admin-user'), name: 'admin-user-zh', language: 'zh' },
];

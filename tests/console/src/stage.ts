import { startTollgate, type Tollgate } from '@tollgate/harness';
import { buildConsole } from '@tollgate/tools';
import axe from 'axe-core';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { findBrowser } from './find-browser.ts';

/** Is a running installation behind its front door, with a browser before it. */
export interface Stage {
  tollgate: Tollgate;
  /** Is the address of the front door, without a trailing slash. */
  address: string;
  open: (options?: VisitorOptions) => Promise<Visitor>;
  close: () => Promise<void>;
}

export interface VisitorOptions {
  credentials?: { username: string; password: string };
  width?: number;
  theme?: 'light' | 'dark';
  language?: 'en' | 'zh';
  /** Is the address of a proxy in front of the front door. */
  address?: string;
}

/** Is one person at one browser, and everything the browser complained about. */
export interface Visitor {
  page: Page;
  context: BrowserContext;
  /** Lists errors on the console, uncaught errors, broken content policy, requests to other hosts. */
  complaints: string[];
  go: (path: string) => Promise<void>;
}

export const browser = findBrowser();
/** Jest shows skipped tests as skipped; the name says why. */
export const WITHOUT = browser === undefined ? ' (skipped: no chromium on this machine)' : '';

const HEIGHT = 900;

/** `env` is added to the environment of every process. */
export async function startStage(env: Readonly<Record<string, string>> = {}): Promise<Stage> {
  await buildConsole();
  const tollgate = await startTollgate({ frontDoor: true, env });
  const address = tollgate.frontDoorUrl ?? tollgate.adminUrl;
  const running = await chromium.launch({ executablePath: browser ?? '', args: ['--no-sandbox'] });
  return {
    tollgate,
    address,
    open: (options = {}) => openVisitor(running, options.address ?? address, options),
    close: async () => {
      await running.close();
      await tollgate.stop();
    },
  };
}

async function openVisitor(
  running: Browser,
  address: string,
  { credentials, width = 1440, theme = 'light', language = 'en' }: VisitorOptions,
): Promise<Visitor> {
  const context = await running.newContext({
    viewport: { width, height: HEIGHT },
    locale: language === 'zh' ? 'zh-CN' : 'en-US',
    colorScheme: theme,
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const page = await context.newPage();
  const complaints = listen(page, address);
  if (credentials) await signIn(context, address, credentials);
  return {
    page,
    context,
    complaints,
    go: async (path) => {
      await page.goto(`${address}${path}`);
      await page.locator('h1').first().waitFor();
    },
  };
}

function listen(page: Page, address: string): string[] {
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error')
      complaints.push(`${message.text()} ${message.location().url}`.trim());
  });
  page.on('pageerror', (error) => complaints.push(`uncaught: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${address}/`)) complaints.push(`foreign: ${request.url()}`);
  });
  return complaints;
}

async function signIn(
  context: BrowserContext,
  address: string,
  credentials: { username: string; password: string },
): Promise<void> {
  const answer = await context.request.post(`${address}/admin-api/auth/login?session=cookie`, {
    data: credentials,
    headers: { origin: address },
  });
  if (!answer.ok()) throw new Error(`signing in failed: ${await answer.text()}`);
}

/** Returns what axe finds against WCAG 2.2 AA, one line each. The script goes in by the debugger: the content policy would refuse it. */
export async function violationsOn(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate<string[]>(`axe
    .run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
    .then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 200))))`);
}

/** Returns by how much the page is wider than the window. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
}

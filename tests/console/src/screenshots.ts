import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { startDemoStage, type DemoStage } from './demo-stage.ts';
import { PICTURES, type Picture } from './pictures.ts';
import { browser } from './stage.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../../docs/tour');
const TOTAL_MAX = 3_000_000;
const QUALITY = 0.82;
const SETTLE_MS = 700;

/** Runs `npm run screenshots [-- <part of a name> ...]`: takes the pictures of docs/tour.md from a real installation. */
async function main(wanted: readonly string[]): Promise<number> {
  if (browser === undefined) {
    console.error('There is no chromium.\n  Fix: npm run test:console installs it where it may.');
    return 1;
  }
  const isWanted = ({ name }: Picture): boolean =>
    wanted.length === 0 || wanted.some((part) => name.includes(part));
  const stage = await startDemoStage();
  try {
    const taken = new Map<string, Buffer>();
    for (const picture of PICTURES.filter(isWanted))
      taken.set(`${picture.name}.webp`, await take(stage, picture));
    replacePictures(taken, { isWhole: wanted.length === 0 });
    const total = readdirSync(FOLDER)
      .map((file) => statSync(path.join(FOLDER, file)).size)
      .reduce((sum, size) => sum + size, 0);
    console.log(`${Math.round(total / 1000)} kB in docs/tour`);
    if (total <= TOTAL_MAX) return 0;
    console.error(`The pictures are larger than ${TOTAL_MAX / 1e6} MB together.`);
    return 1;
  } finally {
    await stage.close();
  }
}

/** Replaces them only once all are taken: a run that fails leaves what is there. */
function replacePictures(
  taken: ReadonlyMap<string, Buffer>,
  { isWhole }: { isWhole: boolean },
): void {
  if (isWhole) rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  for (const [file, picture] of taken) writeFileSync(path.join(FOLDER, file), picture);
}

async function take(stage: DemoStage, picture: Picture): Promise<Buffer> {
  const { isNarrow = false, theme = 'light', language = 'en' } = picture;
  const credentials = picture.who === 'admin' ? stage.tollgate.adminCredentials : stage.user;
  const { page, context, complaints, go } = await stage.open({
    ...(picture.who !== 'visitor' && { credentials }),
    width: isNarrow ? 390 : 1440,
    theme,
    language,
  });
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
  await go(await addressOf(stage, picture.path));
  await picture.act?.(page);
  await page.waitForLoadState('networkidle', { timeout: 3_000 }).catch(() => {});
  // Charts are drawn after the page.
  await page.locator('figure:not(:has(canvas))').first().waitFor({ state: 'detached' });
  await page.waitForTimeout(SETTLE_MS);
  const image = await page.screenshot();
  const complaint = complaints[0];
  const webp = await toWebp(page, image);
  await context.close();
  if (complaint !== undefined) throw new Error(`${picture.name}: ${complaint}`);
  return webp;
}

/** Returns an address in which `:model`, `:upstream`, `:user`, `:key` and `:rid` mean the first of their kind. */
async function addressOf({ tollgate: { admin } }: DemoStage, address: string): Promise<string> {
  const lists: Record<string, [list: string, field: string]> = {
    ':model': ['/models?q=demo-chat', 'id'],
    ':upstream': ['/upstreams?q=demo-flaky', 'id'],
    ':user': ['/users?q=demo-mara', 'id'],
    ':key': ['/keys?q=service', 'id'],
    ':rid': ['/usage/logs?outcome=completed&page_size=1', 'rid'],
    ':version': ['/snapshots?page_size=1', 'version'],
  };
  const found = Object.entries(lists).find(([mark]) => address.includes(mark));
  if (!found) return address;
  const [mark, [list, field]] = found;
  const [first] = await admin.list(list);
  return address.replace(mark, String(first?.[field]));
}

/** Makes a picture of a quarter of the size of the PNG, by the browser itself: no other program is needed. */
async function toWebp(page: Page, png: Buffer): Promise<Buffer> {
  const blank = await page.context().newPage();
  const url: string = await blank.evaluate(`(async () => {
    const image = new Image();
    image.src = 'data:image/png;base64,${png.toString('base64')}';
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = image.width;
    canvas.height = image.height;
    canvas.getContext('2d').drawImage(image, 0, 0);
    return canvas.toDataURL('image/webp', ${QUALITY});
  })()`);
  await blank.close();
  return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
}

process.exitCode = await main(process.argv.slice(2));

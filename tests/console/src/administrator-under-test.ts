import { afterAll, afterEach, beforeAll, describe, expect } from '@jest/globals';
import { browser, startStage, type Stage, type Visitor } from './stage.ts';

const START_MS = 120_000;

export const STORY_MS = 180_000;

export const MODEL = 'by-hand';

/** Skips tests where there is no browser. */
export const describeInBrowser = browser === undefined ? describe.skip : describe;

export let stage: Stage;

export let visitor: Visitor;

export const button = (name: string) => visitor.page.getByRole('button', { name, exact: true });

// Notices are dialogs of their own.
export const dialog = () => visitor.page.locator('[role=dialog]:not([data-type])');

export const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true });

export const rowOf = (table: string, name: string) =>
  visitor.page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: name });

export const call = async (url: string, secret: string): Promise<number> => {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hi' }] }),
  });
  await answer.text();
  return answer.status;
};

export async function newestDocument({ tollgate }: Stage): Promise<unknown> {
  const [newest] = await tollgate.admin.list('/snapshots');
  const detail = await tollgate.admin.call('GET', `/snapshots/${Number(newest?.version)}`);
  return Reflect.get(Object(detail), 'document');
}

/** Shares a visit; the spec that imports the parts calls it: one installation and one visit of its administrator serve them all. */
export function shareVisit(): void {
  beforeAll(async () => {
    stage = await startStage();
    visitor = await stage.open({ credentials: stage.tollgate.adminCredentials });
  }, START_MS);
  // Some tests send what the server refuses, which the browser complains about. An error that the page did not catch is always a fault.
  afterEach(() => {
    const all = visitor?.complaints.splice(0) ?? [];
    expect(all.filter((text) => text.startsWith('uncaught: '))).toEqual([]);
  });
  afterAll(() => stage?.close(), START_MS);
}

import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { Refreshes } from './refreshes.ts';

let queries: QueryClient;
let refreshes: Refreshes;
let asked: { name: string; atMs: number }[];

beforeEach(() => {
  jest.useFakeTimers();
  queries = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  refreshes = new Refreshes(queries);
  asked = [];
});
afterEach(() => {
  refreshes.stop();
  queries.clear();
  jest.useRealTimers();
});

/** Shows a query on screen until the returned function is called. */
async function show(name: string, queryKey: readonly unknown[]): Promise<() => void> {
  const queryFn = (): string => {
    asked.push({ name, atMs: performance.now() });
    return name;
  };
  const leave = new QueryObserver(queries, { queryKey, queryFn }).subscribe(() => undefined);
  await jest.advanceTimersByTimeAsync(1);
  return leave;
}
const names = (): string[] => asked.map(({ name }) => name);

test('at a hundred events a second a page asks once a second, and everything on it in turn', async () => {
  for (const name of ['list', 'chart', 'tiles', 'keys']) await show(name, [name]);
  asked = [];
  const startedAt = performance.now();
  for (let event = 0; event < 1_500; event += 1) {
    refreshes.note({ topics: ['list', 'chart', 'tiles', 'keys'], userId: event });
    await jest.advanceTimersByTimeAsync(10);
  }
  expect(performance.now() - startedAt).toBe(15_000);
  expect(asked.length).toBeLessThanOrEqual(15);
  expect(asked.length).toBeGreaterThanOrEqual(14);
  expect(names().slice(0, 8)).toEqual(
    [...Array(2)].flatMap(() => ['list', 'chart', 'tiles', 'keys']),
  );
  for (const [index, { atMs }] of asked.slice(1).entries())
    expect(atMs - (asked[index]?.atMs ?? 0)).toBeGreaterThanOrEqual(1_000);
});

test('what happens to one account is asked for by the questions of that account and of all, once', async () => {
  await show('mine', ['usage', { user_id: 1 }, '24h']);
  await show('theirs', ['usage', { user_id: 2 }, '24h']);
  await show('all', ['usage', { user_id: undefined }, '24h']);
  await show('other topic', ['wallet']);
  asked = [];
  for (let event = 0; event < 20; event += 1) refreshes.note({ topics: ['usage'], userId: 1 });
  await jest.advanceTimersByTimeAsync(300);
  expect(names()).toEqual(['mine']);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(names()).toEqual(['mine', 'all']);
});

test('what is not on screen is asked for when it is shown again', async () => {
  const leave = await show('list', ['usage']);
  leave();
  asked = [];
  refreshes.note({ topics: ['usage'] });
  await jest.advanceTimersByTimeAsync(5_000);
  expect(names()).toEqual([]);
  await show('list', ['usage']);
  expect(names()).toEqual(['list']);
});

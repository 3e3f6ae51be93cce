import { expect, test } from '@jest/globals';
import { DomainEvents } from './domain-events.ts';

class Opened {
  constructor(readonly id: number) {}
}
class Closed {
  constructor(readonly id: number) {}
}

test('a fact reaches the handlers of its class, one after another, before its publication ends', async () => {
  const events = new DomainEvents();
  const seen: string[] = [];
  events.on(Opened, async ({ id }) => {
    await Promise.resolve();
    seen.push(`first ${id}`);
  });
  events.on(Opened, ({ id }) => void seen.push(`second ${id}`));
  events.on(Closed, ({ id }) => void seen.push(`closed ${id}`));
  await events.publish(new Opened(7));
  expect(seen).toEqual(['first 7', 'second 7']);
});

test('a handler that fails fails the publication, so that it is repeated', async () => {
  const events = new DomainEvents();
  events.on(Opened, () => Promise.reject(new Error('not now')));
  await expect(events.publish(new Opened(7))).rejects.toThrow('not now');
  await events.publish(new Closed(7));
});

import { expect, test } from '@jest/globals';
import {
  finalOf,
  relayedOf,
  REQUESTED,
  RID,
  WITHDRAWAL,
} from '../../../testing/finals-under-test.ts';
import { acknowledgementsOf } from './acknowledgements-of.ts';
import { withdrawalEvent } from './withdrawal-event.ts';

const of = (...events: Parameters<typeof acknowledgementsOf>[0]) => [...acknowledgementsOf(events)];

test('each node gets the numbers of its own events, in their order', () => {
  const other = { rid: RID.replace(/1$/, '2') };
  expect(
    of(
      relayedOf(finalOf()),
      relayedOf(finalOf({ node: 'node-b:0' })),
      relayedOf({ kind: 'reap', ...REQUESTED }, { ...other, seq: '1' }),
    ),
  ).toEqual([
    [
      'node-a:3',
      [
        { rid: RID, seq: 0 },
        { ...other, seq: 1 },
      ],
    ],
    ['node-b:0', [{ rid: RID, seq: 0 }]],
  ]);
});

test('a poison event is acknowledged too, where its sender can be read', () => {
  expect(of(relayedOf({ node: 'node-a:3' }, { delta: 'x' }))).toEqual([
    ['node-a:3', [{ rid: RID, seq: 0 }]],
  ]);
  expect(
    of(
      relayedOf('{'),
      relayedOf({ node: 4 }),
      relayedOf({ node: 'no address' }),
      relayedOf(finalOf(), { seq: 'x' }),
      relayedOf(WITHDRAWAL),
    ),
  ).toEqual([]);
});

test('a withdrawal that is booked at once is the event that its outbox will bring, without a place', () => {
  const withdrawn = { userId: 11, subscriptionId: 33, modelId: 44, withdrawalId: RID, tokens: 12 };
  const { payload, ...event } = withdrawalEvent(withdrawn);
  expect(event).toEqual({ shard: '', epoch: '', outboxId: '', rid: RID, seq: '0', delta: '12' });
  expect(JSON.parse(payload)).toEqual(WITHDRAWAL);
});

import { NO_USAGE } from '@tollgate/contracts';
import { expect, test } from '@jest/globals';
import type { CheckpointReply, CheckpointRequest, RestoreRequest } from '@tollgate/keyspace';
import { openHold } from '../../../test/usage/holds.ts';
import { silent } from '../../../test/usage/open-recorder.ts';
import { ManualTime } from '../../testing/manual-time.ts';
import { Checkpointer } from './checkpointer.ts';
import { KeptHold } from './kept-hold.ts';

test('a checkpoint and a restore name the budgets of their hold, which the node signs; what was used beyond a hold is held again', async () => {
  const time = new ManualTime();
  const checkpoints: CheckpointRequest[] = [];
  const restores: RestoreRequest[] = [];
  const replies: CheckpointReply[] = [
    { kind: 'ok', heldTokens: 1_000, extendedTokens: 0, isRechargeDue: false },
    { kind: 'fenced' },
  ];
  const checkpointer = new Checkpointer({
    metering: {
      checkpoint: (request) => {
        checkpoints.push(request);
        return Promise.resolve(replies.shift() ?? { kind: 'gone', state: 'done' });
      },
      epochOf: () => Promise.resolve('e2'),
      restore: (request) => {
        restores.push(request);
        return Promise.resolve({ kind: 'restored', heldTokens: request.wantTokens });
      },
    },
    ...{ log: silent, now: time.now, timers: time.timers, random: () => 0 },
    ...{ leaseMs: 60_000, node: 'node-1:0', rechargeWaitMs: 2_000 },
    onCounted: () => undefined,
    onRechargeDue: () => undefined,
    onRestoring: (hold, epoch) => {
      hold.epoch = epoch;
      return true;
    },
  });
  const claims = '7:0:1000000';
  const hold = openHold({ grantedTokens: 1_000, sliceTokens: 500, boundTokens: 9_000, claims });
  const kept = checkpointer.keep(new KeptHold(checkpointer, hold));
  kept.count(() => ({ ...NO_USAGE, input: 20_000 }));
  await time.pass(8_000);
  checkpointer.close();
  const { charge } = kept;
  expect(charge).toBeGreaterThan(1_000);
  expect(checkpoints.slice(0, 2)).toMatchObject([{ claims, usedTokens: charge }, { claims }]);
  expect(restores).toMatchObject([
    { claims, epoch: 'e2', usedTokens: charge, wantTokens: charge, node: 'node-1:0' },
  ]);
});

import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { StreamableFile, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { of } from 'rxjs';
import { AccountTurns } from './account-turns.ts';
import { setCaller, type Caller } from './caller.ts';

/** The limit is two requests of one account at a time. */
const turns = new AccountTurns({ DATABASE_POOL_MAX: 8 });
const caller = { userId: 1, role: 'user' } as Caller;

/** Starts a request of the account; `isAnswered` is true once its handler has run. */
function ask(answer: unknown) {
  const request = {} as Request;
  setCaller(request, caller);
  const response = Object.assign(new EventEmitter(), { closed: false });
  const http = { getRequest: () => request, getResponse: () => response };
  const context = { switchToHttp: () => http } as unknown as ExecutionContext;
  const asked = { response, isAnswered: false };
  const handle = () => {
    asked.isAnswered = true;
    return of(answer);
  };
  turns.intercept(context, { handle }).subscribe();
  return asked;
}

test('a file that is sent keeps its turn until its last byte, any other answer only while it is made', async () => {
  const files = [
    ask(new StreamableFile(Buffer.alloc(1))),
    ask(new StreamableFile(Buffer.alloc(1))),
  ];
  await setImmediate();
  const next = ask({});
  const last = ask({});
  await setImmediate();
  expect([...files, next, last].map(({ isAnswered }) => isAnswered)).toEqual([
    true,
    true,
    false,
    false,
  ]);
  files[0]?.response.emit('close');
  await setImmediate();
  expect([next.isAnswered, last.isAnswered]).toEqual([true, true]);
  files[1]?.response.emit('close');
});

import { afterEach, expect, test } from '@jest/globals';
import { PassThrough } from 'node:stream';
import { createPino, StructuredLogger } from './logger.ts';

const sink = new PassThrough();
const lines = (): string => (sink.read() ?? '').toString();
const pino = createPino('trace', sink);
const logger = new StructuredLogger(pino);
afterEach(() => void lines());

test('secrets stay out of the log, on the surface and below it (S13)', () => {
  pino.info(
    {
      password: 'canary',
      body: { api_key: 'canary', nested: { token: 'canary' } },
      headers: { authorization: 'canary', cookie: 'canary' },
    },
    'request',
  );
  expect(lines()).not.toContain('canary');
});

test("an error keeps its stack and its cause's text, not the statement's parameters", () => {
  const error = Object.assign(new Error('duplicate key', { cause: new Error('deeper') }), {
    code: '23505',
    parameters: ['canary'],
    driverError: { detail: 'canary' },
  });
  logger.error(error, 'saving failed', 'users');
  const line = lines();
  expect(line).not.toContain('canary');
  expect(JSON.parse(line)).toMatchObject({
    level: 'error',
    context: 'users',
    msg: 'saving failed',
    err: { message: 'duplicate key', code: '23505', cause: 'deeper', stack: expect.any(String) },
  });
});

test('newlines and escape sequences of a caller stay inside one line (S48)', () => {
  logger.warn('name\n{"level":"fatal"}\u001b[31m', 'users');
  const text = lines();
  expect(text.trimEnd().split('\n')).toHaveLength(1);
  expect(text).not.toContain('\u001b');
});

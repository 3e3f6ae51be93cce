import { expect, test } from '@jest/globals';
import { callerRequestId, passedIdentity } from './caller-ids.ts';

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

test("the caller's own id is read from either header, OpenAI's first, and only where it is visible text of a bounded length", () => {
  expect(callerRequestId({ 'x-request-id': 'a-1' })).toBe('a-1');
  expect(callerRequestId({ 'x-request-id': 'a-1', 'x-client-request-id': 'b-2' })).toBe('b-2');
  expect(callerRequestId({ 'x-request-id': 'a-1', 'x-client-request-id': 'b 2' })).toBe('a-1');
  for (const id of ['', 'two words', 'é', 'x'.repeat(129)])
    expect(callerRequestId({ 'x-request-id': id })).toBeNull();
});

test('id, trace and user agent go upstream, the agent behind the own one', () => {
  expect(
    passedIdentity(
      { 'x-request-id': 'a-1', traceparent: TRACE, 'user-agent': 'OpenAI/JS 7.55.0' },
      'tollgate/1',
    ),
  ).toEqual({
    'user-agent': 'tollgate/1 OpenAI/JS 7.55.0',
    'x-client-request-id': 'a-1',
    traceparent: TRACE,
  });
  expect(passedIdentity({}, 'tollgate/1')).toEqual({ 'user-agent': 'tollgate/1' });
});

test('a trace that is not valid is not passed on, and a user agent only as far as it is short and printable', () => {
  for (const traceparent of [
    'ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `00-4bf92f3577b34da6a3ce929d0e0e4736-${'0'.repeat(16)}-01`,
    `${TRACE}\u00e9`,
    TRACE.toUpperCase(),
  ])
    expect(passedIdentity({ traceparent }, 'own')).not.toHaveProperty('traceparent');
  const { 'user-agent': agent } = passedIdentity(
    { 'user-agent': `a\u00ff${'b'.repeat(400)}` },
    'own',
  );
  expect(agent).toBe(`own a${'b'.repeat(255)}`);
});

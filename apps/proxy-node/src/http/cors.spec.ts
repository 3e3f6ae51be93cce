import { describe, expect, test } from '@jest/globals';
import { Cors } from './cors.ts';

const PREFLIGHT = { 'access-control-request-method': 'POST' };
const APP = 'https://app.example';

describe('without origins in the setting', () => {
  const cors = new Cors({ origins: [], exposed: ['x-request-id'] });

  test('no answer carries a header of CORS and no preflight is answered', () => {
    expect(cors.headersFor({ origin: APP })).toEqual({});
    expect(cors.preflight('OPTIONS', { ...PREFLIGHT, origin: APP })).toBeNull();
  });
});

describe('with an exact origin', () => {
  const cors = new Cors({ origins: [APP], exposed: ['x-request-id', 'retry-after'] });

  test('only that origin is allowed, never with credentials, and caches keep origins apart', () => {
    expect(cors.headersFor({ origin: APP })).toEqual({
      vary: 'Origin',
      'access-control-allow-origin': APP,
      'access-control-expose-headers': 'x-request-id, retry-after',
    });
    for (const origin of ['null', 'https://app.example.evil', 'http://app.example', `${APP}:8443`])
      expect(cors.headersFor({ origin })).toEqual({ vary: 'Origin' });
    expect(cors.headersFor({})).toEqual({ vary: 'Origin' });
  });

  test('a preflight of that origin names the methods and repeats the headers that it asks for', () => {
    const names = 'authorization, content-type, x-stainless-lang';
    expect(
      cors.preflight('OPTIONS', {
        ...PREFLIGHT,
        origin: APP,
        'access-control-request-headers': names,
      }),
    ).toMatchObject({
      'access-control-allow-origin': APP,
      'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
      'access-control-allow-headers': names,
    });
  });

  test('text that is no list of header names is not repeated', () => {
    const headers = {
      ...PREFLIGHT,
      origin: APP,
      'access-control-request-headers': 'a; b=<script>',
    };
    expect(cors.preflight('OPTIONS', headers)).not.toHaveProperty('access-control-allow-headers');
  });

  test('what is no preflight, or comes from another origin, is not answered as one', () => {
    expect(cors.preflight('POST', { ...PREFLIGHT, origin: APP })).toBeNull();
    expect(cors.preflight('OPTIONS', { origin: APP })).toBeNull();
    expect(cors.preflight('OPTIONS', { ...PREFLIGHT, origin: 'https://evil.example' })).toBeNull();
  });
});

test('* allows every origin, and its answers may be shared by caches', () => {
  const cors = new Cors({ origins: ['*'], exposed: [] });
  expect(cors.headersFor({ origin: 'null' })).toMatchObject({ 'access-control-allow-origin': '*' });
  expect(cors.headersFor({ origin: APP })).not.toHaveProperty('vary');
});

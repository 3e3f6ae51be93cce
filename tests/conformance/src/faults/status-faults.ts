import type { Fault } from './fault-scene.ts';
import { ERROR, FAILED, status } from './fault-parts.ts';

export const STATUSES: readonly Fault[] = [
  {
    name: 'answers 400',
    act: status('400 Bad Request', {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'messages.0: too odd' },
    }),
    json: ['bad request', 'nothing'],
    stream: ['bad request', 'nothing'],
  },
  {
    name: 'answers 401',
    act: status('401 Unauthorized', ERROR),
    json: FAILED,
    stream: FAILED,
    rests: true,
  },
  {
    name: 'answers 403',
    act: status('403 Forbidden', ERROR),
    json: FAILED,
    stream: FAILED,
    rests: true,
  },
  { name: 'answers 404', act: status('404 Not Found', ERROR), json: FAILED, stream: FAILED },
  {
    name: 'answers 413',
    act: status('413 Content Too Large', {
      error: { message: 'too much', type: 'request_too_large' },
    }),
    json: ['too large', 'nothing'],
    stream: ['too large', 'nothing'],
  },
  {
    name: 'answers 429 with Retry-After',
    act: status('429 Too Many Requests', ERROR, { 'retry-after': '7' }),
    json: ['rate limited', 'nothing'],
    stream: ['rate limited', 'nothing'],
    retryAfter: '7',
  },
  {
    name: 'answers 429 with an hour to wait',
    act: status('429 Too Many Requests', ERROR, { 'retry-after': '3600' }),
    json: ['rate limited', 'nothing'],
    stream: ['rate limited', 'nothing'],
    retryAfter: '60',
  },
  {
    name: 'answers 500',
    act: status('500 Internal Server Error', ERROR),
    json: FAILED,
    stream: FAILED,
  },
  {
    name: 'answers 503',
    act: status('503 Service Unavailable', 'busy'),
    json: ['overloaded', 'nothing'],
    stream: ['overloaded', 'nothing'],
  },
  {
    name: 'answers 529',
    act: status('529 Overloaded', ERROR),
    json: ['overloaded', 'nothing'],
    stream: ['overloaded', 'nothing'],
  },
  {
    name: 'redirects',
    act: status('301 Moved Permanently', '', { location: 'http://169.254.169.254/latest' }),
    json: FAILED,
    stream: FAILED,
  },
];

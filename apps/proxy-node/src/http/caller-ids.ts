import type { IncomingHttpHeaders } from 'node:http';
import { TRACEPARENT } from '@tollgate/contracts';

/** Matches visible ASCII of a length that logs can take; another id is ignored. */
const CALLER_ID = /^[\x21-\x7e]{1,128}$/;
const USER_AGENT_CHARS_MAX = 256;

/** Returns the caller's own id of the request: `x-client-request-id` (OpenAI's name), otherwise `x-request-id`; null without a valid one. */
export function callerRequestId(headers: IncomingHttpHeaders): string | null {
  const given = [headers['x-client-request-id'], headers['x-request-id']];
  return given.find((id): id is string => typeof id === 'string' && CALLER_ID.test(id)) ?? null;
}

/** Returns the caller's identifiers that reach an upstream: its id, its trace, and its user agent after `own`. */
export function passedIdentity(headers: IncomingHttpHeaders, own: string): Record<string, string> {
  const callerId = callerRequestId(headers);
  const { traceparent, 'user-agent': agent = '' } = headers;
  const seenAgent = agent
    .replace(/[^\x20-\x7e]/g, '')
    .slice(0, USER_AGENT_CHARS_MAX)
    .trim();
  return {
    'user-agent': seenAgent === '' ? own : `${own} ${seenAgent}`,
    ...(callerId !== null && { 'x-client-request-id': callerId }),
    ...(typeof traceparent === 'string' && TRACEPARENT.test(traceparent) && { traceparent }),
  };
}

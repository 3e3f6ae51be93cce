import { KEY_LIMITS } from '@tollgate/contracts';
import type { AccessDenied, AdmitReply, InquiryReply } from '@tollgate/keyspace';
import { balanceTooLow, modelNotFound, Refusal, retryHeaders } from '../../refusals.ts';
import { rateLimitHeaders } from './rate-limit-headers.ts';
import { budgetExceeded } from './budget-exceeded.ts';
import { rechargePending } from './recharge-waits.ts';

/** Model lists and token counts that a key may ask for in a minute, whatever its rpm: a coding agent counts 25 prompts at once. */
/** Inquiries a minute of a key: its rpm, if that is more than the first; the second where it has none. */
export const INQUIRIES_PER_MINUTE = 60;
export const INQUIRIES_WITHOUT_RPM = 600;
const FENCED_RETRY_MS = 2_000;
const HELD_RETRY_MS = 1_000;

/** Another key of the same request may still be good. */
export function isKeyDenied(reply: AdmitReply): boolean {
  return (
    reply.kind === 'key_unknown' || reply.kind === 'key_disabled' || reply.kind === 'key_expired'
  );
}

/** `modelName`: as the request names it. `minTokens`: with so many it would have been admitted. */
export function admitRefusal(
  reply: AdmitReply,
  { modelName, minTokens }: { modelName: string; minTokens: number },
): Refusal {
  switch (reply.kind) {
    case 'not_subscribed':
    case 'subscription_closing':
      return modelNotFound(modelName);
    case 'rate_limited':
      return tooManyRequests(reply);
    case 'concurrency_exceeded':
      return new Refusal('concurrency_exceeded', { headers: retryHeaders(HELD_RETRY_MS) });
    case 'tokens_held':
      return new Refusal('tokens_held', { headers: retryHeaders(HELD_RETRY_MS) });
    case 'budget_exceeded':
      return budgetExceeded(reply);
    case 'recharge_due':
      return rechargePending();
    case 'balance_too_low':
      return balanceTooLow(reply.balance, minTokens);
    case 'fenced':
    case 'admitted':
    case 'duplicate':
      return unavailable();
    default:
      return accessRefusal(reply);
  }
}

type RateLimited = Extract<InquiryReply, { kind: 'rate_limited' }>;

export function tooManyRequests({ window, retryAfterMs, windows }: RateLimited): Refusal {
  return new Refusal('rate_limited', {
    detail: `Rate limit reached: the key has no more ${COUNTED.get(window)}; try again in ${Math.ceil(retryAfterMs / 1000)} s.`,
    headers: { ...rateLimitHeaders(windows, retryAfterMs), ...retryHeaders(retryAfterMs) },
  });
}

export function tooManyInquiries({ retryAfterMs, windows }: RateLimited): Refusal {
  const [{ limit } = { limit: INQUIRIES_PER_MINUTE }] = windows;
  return new Refusal('rate_limited', {
    detail: `Rate limit reached: the key has asked for ${limit} model lists and token counts within a minute; try again in ${Math.ceil(retryAfterMs / 1000)} s.`,
    headers: retryHeaders(retryAfterMs),
  });
}

const COUNTED = new Map<string, string>(
  KEY_LIMITS.map(({ name, counts }) => [name, counts.toLowerCase()]),
);

export function accessRefusal(denied: AccessDenied): Refusal {
  switch (denied.kind) {
    case 'key_unknown':
    case 'key_disabled':
    case 'key_expired':
      return new Refusal('invalid_api_key');
    case 'address_not_allowed':
      return new Refusal('ip_not_allowed');
    case 'account_not_active':
      return new Refusal('account_frozen');
    case 'model_not_allowed':
      return new Refusal('model_not_allowed', { param: 'model' });
  }
}

export function unavailable(): Refusal {
  return new Refusal('metering_unavailable', { headers: retryHeaders(FENCED_RETRY_MS) });
}

/** Charged tokens that are there, or come, for a request that was refused for lack of them: its exact count may still fit. Null for other answers. */
export function tokensThere(reply: AdmitReply): number | null {
  switch (reply.kind) {
    case 'balance_too_low':
      return reply.balance + reply.dueTokens;
    case 'tokens_held':
      return reply.balance - reply.held + reply.dueTokens;
    case 'budget_exceeded':
      return reply.leftTokens;
    default:
      return null;
  }
}

import { RATE_WINDOWS } from '@tollgate/contracts';
import type { AccessDenied, AdmitReply, InquiryReply, RateName } from '@tollgate/keyspace';
import type { HoldPlan } from '@tollgate/metering';
import { balanceTooLow, modelNotFound, Refusal, retryHeaders } from '../../refusals.ts';
import { rateLimitHeaders, type Denied } from './rate-limit-headers.ts';
import { budgetExceeded, valueRequired } from './budget-exceeded.ts';
import { rechargePending } from './recharge-waits.ts';

/** Bounds the model lists and token counts a minute of a key: it may make as many as its rpm, if that is more than the first value, and the second where it has no rpm. A coding agent counts 25 prompts at once. */
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

/** A limit refused the bound of the prompt's bytes; its exact count may be within it. */
export function isTooLong(reply: AdmitReply | null): boolean {
  return reply?.kind === 'input_too_long' || reply?.kind === 'prompt_above_rate';
}

/** Returns the refusal for this reply. `modelName` is as the request names it; with `minTokens` it would have been admitted. */
export function admitRefusal(
  reply: AdmitReply,
  {
    modelName,
    plan: { minTokens, promptTokens },
  }: { modelName: string; plan: Pick<HoldPlan, 'minTokens' | 'promptTokens'> },
): Refusal {
  switch (reply.kind) {
    case 'not_subscribed':
    case 'subscription_closing':
      return modelNotFound(modelName);
    case 'rate_limited':
      return tooManyRequests(reply);
    case 'concurrency_exceeded':
      return new Refusal('concurrency_exceeded', {
        detail: `Too many requests are running: ${reply.limit} at a time are allowed.`,
        headers: retryHeaders(HELD_RETRY_MS),
      });
    case 'input_too_long':
      return inputTooLong(reply.limit, promptTokens.most);
    case 'prompt_above_rate':
      return promptAboveRate(reply, promptTokens.most);
    case 'tokens_held':
      return new Refusal('tokens_held', { headers: retryHeaders(HELD_RETRY_MS) });
    case 'budget_exceeded':
      return budgetExceeded(reply);
    case 'value_required':
      return valueRequired(reply);
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

export function tooManyRequests({ rate, retryAfterMs, windows }: RateLimited): Refusal {
  const denied: Denied = { rate, retryAfterMs };
  return new Refusal('rate_limited', {
    detail: `Rate limit reached: ${whoseOf(rate)} has no more ${wordsOf(rate)} for now; try again in ${Math.ceil(retryAfterMs / 1000)} s.`,
    headers: { ...rateLimitHeaders(windows, { denied }), ...retryHeaders(retryAfterMs) },
  });
}

/** No wait helps: the whole limit of the window is less than the prompt. */
function promptAboveRate(
  { rate, limit }: Extract<AdmitReply, { kind: 'prompt_above_rate' }>,
  promptTokens: number,
): Refusal {
  return new Refusal('rate_limited', {
    detail: `The prompt has up to ${promptTokens} tokens, and ${whoseOf(rate)} may use ${limit} ${wordsOf(rate)}; send a shorter prompt, or have the limit raised.`,
    headers: { 'x-should-retry': 'false' },
  });
}

/** Refuses in the words by which both vendors' clients recognise that the context is too long. */
function inputTooLong(limit: number, promptTokens: number): Refusal {
  return new Refusal('input_too_long', {
    detail: `The key takes prompts within a context length of ${limit} tokens; this one contains up to ${promptTokens} tokens.`,
  });
}

export function tooManyInquiries({ retryAfterMs, windows }: RateLimited): Refusal {
  const [{ limit } = { limit: INQUIRIES_PER_MINUTE }] = windows;
  return new Refusal('rate_limited', {
    detail: `Rate limit reached: the key has asked for ${limit} model lists and token counts within a minute; try again in ${Math.ceil(retryAfterMs / 1000)} s.`,
    headers: retryHeaders(retryAfterMs),
  });
}

const SAYS = new Map<string, string>(RATE_WINDOWS.map(({ name, says }) => [name, says]));

function wordsOf({ window, models }: RateName): string {
  const counted = (SAYS.get(window) ?? window).toLowerCase();
  return models === '' ? counted : `${counted} of ${models}`;
}

function whoseOf({ owner }: RateName): string {
  return `the ${owner}`;
}

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

/** Returns the charged tokens that are there, or come, for a request that was refused for lack of them: its exact count may still fit; null for other answers. */
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

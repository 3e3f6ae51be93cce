import type {
  AccessDenied,
  AccessReply,
  AdmitReply,
  CheckpointReply,
  CreditReply,
  InquiryReply,
  ReapReply,
  RestoreReply,
  SettleReply,
  WindowState,
  WithdrawReply,
} from './admission.ts';
import { readRateField } from '../records/live-limits.ts';
import { toBudgetExceeded, toValueRequired } from './budget-replies.ts';
import { ReplyReader } from '../connection/reply-reader.ts';

/** Reads Lua's replies as the types of admission.ts, with one function per Lua function. The first word of each reply says what follows. */
const DENIED = [
  'KEY_UNKNOWN',
  'KEY_DISABLED',
  'KEY_EXPIRED',
  'ADDRESS_NOT_ALLOWED',
  'ACCOUNT_NOT_ACTIVE',
  'MODEL_NOT_ALLOWED',
] as const;

const ADMISSION_WORDS = [
  'OK',
  'FENCED',
  'DUPLICATE',
  'NOT_SUBSCRIBED',
  'SUBSCRIPTION_CLOSING',
  'CONCURRENCY_EXCEEDED',
  'RATE_LIMITED',
  'INPUT_TOO_LONG',
  'PROMPT_TOO_LONG',
  'BALANCE_TOO_LOW',
  'TOKENS_HELD',
  'BUDGET_EXCEEDED',
  'VALUE_REQUIRED',
  'RECHARGE_DUE',
] as const;

export function toAdmitReply(
  reply: unknown,
  { epoch, concurrencyMax }: { epoch: string; concurrencyMax: number },
): AdmitReply {
  const reader = new ReplyReader(reply);
  const word = reader.oneOf(...ADMISSION_WORDS, ...DENIED);
  switch (word) {
    case 'OK':
      return toAdmitted(reader, epoch);
    case 'DUPLICATE':
      return toDuplicate(reader, epoch);
    case 'FENCED':
      return { kind: 'fenced' };
    case 'NOT_SUBSCRIBED':
      return { kind: 'not_subscribed' };
    case 'SUBSCRIPTION_CLOSING':
      return { kind: 'subscription_closing' };
    case 'CONCURRENCY_EXCEEDED':
    case 'INPUT_TOO_LONG':
    case 'PROMPT_TOO_LONG':
    case 'RATE_LIMITED':
      return toLimitReply(word, reader, concurrencyMax);
    case 'BALANCE_TOO_LOW':
    case 'TOKENS_HELD':
    case 'RECHARGE_DUE':
      return toFundsReply(word, reader);
    case 'BUDGET_EXCEEDED':
      return toBudgetExceeded(reader);
    case 'VALUE_REQUIRED':
      return toValueRequired(reader);
    default:
      return toAccessDenied(word, reader);
  }
}

function toLimitReply(
  word: 'CONCURRENCY_EXCEEDED' | 'INPUT_TOO_LONG' | 'PROMPT_TOO_LONG' | 'RATE_LIMITED',
  reader: ReplyReader,
  concurrencyMax: number,
): AdmitReply {
  switch (word) {
    case 'CONCURRENCY_EXCEEDED':
      return {
        kind: 'concurrency_exceeded',
        limit: reader.isAtEnd ? concurrencyMax : reader.integer(),
      };
    case 'INPUT_TOO_LONG':
      return { kind: 'input_too_long', limit: reader.integer() };
    case 'PROMPT_TOO_LONG':
      return {
        kind: 'prompt_above_rate',
        rate: readRateField(reader.text()),
        limit: reader.integer(),
      };
    case 'RATE_LIMITED':
      return {
        kind: 'rate_limited',
        rate: readRateField(reader.text()),
        retryAfterMs: reader.integer(),
        windows: reader.all(toWindowState),
      };
  }
}

function toAdmitted(reader: ReplyReader, epoch: string): AdmitReply {
  return {
    kind: 'admitted',
    grantedTokens: reader.integer(),
    availableTokens: reader.integer(),
    keyId: reader.integer(),
    subscriptionId: reader.integer(),
    generation: reader.integer(),
    expiresAtMs: reader.integer(),
    epoch,
    claims: reader.text(),
    outputTokensMax: reader.integer(),
    windows: reader.all(toWindowState),
  };
}

function toDuplicate(reader: ReplyReader, epoch: string): AdmitReply {
  return {
    kind: 'duplicate',
    state: reader.oneOf('open', 'reaped', 'done'),
    grantedTokens: reader.integer(),
    keyId: reader.integer(),
    subscriptionId: reader.integer(),
    generation: reader.integer(),
    claims: reader.text(),
    epoch,
  };
}

function toFundsReply(
  word: 'BALANCE_TOO_LOW' | 'TOKENS_HELD' | 'RECHARGE_DUE',
  reader: ReplyReader,
): AdmitReply {
  if (word === 'RECHARGE_DUE') return { kind: 'recharge_due' };
  const [balance, second, dueTokens] = [reader.integer(), reader.integer(), reader.integer()];
  return word === 'BALANCE_TOO_LOW'
    ? { kind: 'balance_too_low', balance, subscriptionId: second, dueTokens }
    : { kind: 'tokens_held', balance, held: second, dueTokens };
}

export function toInquiryReply(reply: unknown): InquiryReply {
  if (!Array.isArray(reply) || reply[0] !== 'RATE_LIMITED') return toAccessReply(reply);
  const reader = new ReplyReader(reply.slice(1));
  return {
    kind: 'rate_limited',
    rate: readRateField(reader.text()),
    retryAfterMs: reader.integer(),
    windows: reader.all(toWindowState),
  };
}

export function toAccessReply(reply: unknown): AccessReply {
  const reader = new ReplyReader(reply);
  const word = reader.oneOf('OK', 'FENCED', ...DENIED);
  if (word === 'FENCED') return { kind: 'fenced' };
  if (word !== 'OK') return toAccessDenied(word, reader);
  return {
    kind: 'allowed',
    keyId: reader.integer(),
    allowedModels: reader.text(),
    subscribedModelIds: reader.all((rest) => rest.integer()),
  };
}

export function toCheckpointReply(reply: unknown): CheckpointReply {
  const reader = new ReplyReader(reply);
  switch (reader.oneOf('OK', 'STOP', 'GONE', 'FENCED')) {
    case 'OK':
      return {
        kind: 'ok',
        heldTokens: reader.integer(),
        extendedTokens: reader.integer(),
        isRechargeDue: reader.integer() === 1,
      };
    case 'STOP':
      return { kind: 'stop', heldTokens: reader.integer() };
    case 'GONE':
      return { kind: 'gone', state: reader.oneOf('reaped', 'done', 'none') };
    case 'FENCED':
      return { kind: 'fenced' };
  }
}

export function toRestoreReply(reply: unknown): RestoreReply {
  const reader = new ReplyReader(reply);
  switch (reader.oneOf('OK', 'GONE', 'FENCED')) {
    case 'OK':
      return { kind: 'restored', heldTokens: reader.integer() };
    case 'GONE':
      return { kind: 'gone', state: reader.oneOf('reaped', 'done', 'none') };
    case 'FENCED':
      return { kind: 'fenced' };
  }
}

export function toSettleReply(reply: unknown): SettleReply {
  const reader = new ReplyReader(reply);
  switch (reader.oneOf('OK', 'DUPLICATE', 'FENCED')) {
    case 'OK':
      return {
        kind: 'settled',
        balance: reader.integer(),
        from: reader.oneOf('open', 'reaped', 'none'),
      };
    case 'DUPLICATE':
      return { kind: 'duplicate' };
    case 'FENCED':
      return { kind: 'fenced', by: reader.oneOf('epoch', 'age') };
  }
}

export function toReapReply(reply: unknown): ReapReply {
  const reader = new ReplyReader(reply);
  switch (reader.oneOf('OK', 'ALIVE', 'NOT_OPEN', 'FENCED')) {
    case 'OK':
      return { kind: 'reaped', chargedTokens: reader.integer() };
    case 'ALIVE':
      return { kind: 'alive' };
    case 'NOT_OPEN':
      return { kind: 'not_open' };
    case 'FENCED':
      return { kind: 'fenced' };
  }
}

export function toCreditReply(reply: unknown): CreditReply {
  const reader = new ReplyReader(reply);
  switch (reader.oneOf('OK', 'DUPLICATE', 'GAP', 'FENCED')) {
    case 'OK':
      return { kind: 'applied', balance: reader.integer() };
    case 'DUPLICATE':
      return { kind: 'duplicate', seq: reader.integer() };
    case 'GAP':
      return { kind: 'gap', seq: reader.integer() };
    case 'FENCED':
      return { kind: 'fenced' };
  }
}

export function toWithdrawReply(reply: unknown): WithdrawReply {
  const reader = new ReplyReader(reply);
  switch (reader.oneOf('OK', 'DUPLICATE', 'BEHIND', 'NOT_FOUND', 'FENCED')) {
    case 'BEHIND':
      return { kind: 'behind' };
    case 'OK':
      return { kind: 'withdrawn', tokens: reader.integer(), held: reader.integer() };
    case 'DUPLICATE':
      return { kind: 'duplicate', tokens: reader.integer() };
    case 'NOT_FOUND':
      return { kind: 'not_found' };
    case 'FENCED':
      return { kind: 'fenced' };
  }
}

function toAccessDenied(word: (typeof DENIED)[number], reader: ReplyReader): AccessDenied {
  switch (word) {
    case 'KEY_UNKNOWN':
      return { kind: 'key_unknown' };
    case 'KEY_DISABLED':
      return { kind: 'key_disabled' };
    case 'KEY_EXPIRED':
      return { kind: 'key_expired' };
    case 'ADDRESS_NOT_ALLOWED':
      return { kind: 'address_not_allowed' };
    case 'ACCOUNT_NOT_ACTIVE':
      return { kind: 'account_not_active', status: reader.text() };
    case 'MODEL_NOT_ALLOWED':
      return { kind: 'model_not_allowed' };
  }
}

function toWindowState(reader: ReplyReader): WindowState {
  const { owner, window, models } = readRateField(reader.text());
  const [limit, remaining, resetMs] = [reader.integer(), reader.integer(), reader.integer()];
  return { owner, window, models, limit, remaining, resetMs };
}

import type {
  AdmitRequest,
  CheckpointRequest,
  RestoreRequest,
  SettleRequest,
} from './admission.ts';
import { scopeValue } from '../scope-value.ts';
import { identifier, keys, natural, parseNodeAddress } from '../keys.ts';

/** Holds the KEYS of a function and its ARGV, less the epoch before them and the clock behind them. */
export interface FunctionCall {
  keys: string[];
  args: (string | number)[];
}

export function admitCall(shard: string, request: AdmitRequest): FunctionCall {
  const { rid, accountId, modelId, keyHash, wantTokens, minTokens } = request;
  parseNodeAddress(request.node);
  return {
    keys: [
      keys.epoch(shard),
      keys.key(shard, keyHash),
      keys.account(shard, accountId),
      keys.subscription(shard, accountId, modelId),
      keys.hold(shard, rid),
      keys.holds(shard),
      keys.windows(shard, keyHash),
      keys.budgets(shard, accountId),
      keys.accountWindows(shard, accountId),
      keys.running(shard, keyHash),
    ],
    args: [
      ...[rid, accountId, modelId, request.modelName],
      identifier(request.priceVersionId, 'price version id'),
      natural(wantTokens, 'wantTokens'),
      natural(minTokens, 'minTokens'),
      request.addressHex,
      concurrencyLimit(request),
      natural(request.leaseMs, 'leaseMs'),
      request.node,
    ],
  };
}

/** Follows the count of Redis: it still counts what has ended on the node and was not settled. */
function concurrencyLimit({ concurrencyMax, endedHere }: AdmitRequest): number {
  const limit = natural(concurrencyMax, 'concurrencyMax');
  return limit === 0 ? 0 : limit + (endedHere?.() ?? 0);
}

export function checkpointCall(shard: string, request: CheckpointRequest): FunctionCall {
  const { rid, accountId, modelId, keyHash } = request;
  parseNodeAddress(request.node);
  return {
    keys: [
      keys.epoch(shard),
      keys.key(shard, keyHash),
      keys.account(shard, accountId),
      keys.subscription(shard, accountId, modelId),
      keys.hold(shard, rid),
      keys.holds(shard),
      keys.budgets(shard, accountId),
    ],
    args: [
      ...[rid, accountId, modelId],
      natural(request.usedTokens, 'usedTokens'),
      natural(request.extendTokens, 'extendTokens'),
      natural(request.leaseMs, 'leaseMs'),
    ],
  };
}

export function restoreCall(shard: string, request: RestoreRequest): FunctionCall {
  const { rid, accountId, modelId } = request;
  parseNodeAddress(request.node);
  return {
    keys: [
      keys.epoch(shard),
      keys.subscription(shard, accountId, modelId),
      keys.hold(shard, rid),
      keys.holds(shard),
      keys.budgets(shard, accountId),
    ],
    args: [
      ...[rid, accountId, modelId],
      identifier(request.subscriptionId, 'subscription id'),
      identifier(request.keyId, 'key id'),
      identifier(request.priceVersionId, 'price version id'),
      natural(request.generation, 'generation'),
      request.node,
      natural(request.wantTokens, 'wantTokens'),
      natural(request.usedTokens, 'usedTokens'),
      natural(request.leaseMs, 'leaseMs'),
    ],
  };
}

/** Returns the argument of `admit` by which limits and budgets judge a request, as `asked_of` of limits.lua reads it. */
export function askedArgument(request: AdmitRequest): string {
  const { accountId, promptTokens = 0, promptTokensMax = 0, scopes = {}, plainTokens } = request;
  const prompt = `${natural(promptTokens, 'promptTokens')},${natural(promptTokensMax, 'promptTokensMax')}`;
  const plain = plainTokens
    ? `${natural(plainTokens.rate, 'plainTokens.rate')}+${natural(plainTokens.base, 'plainTokens.base')}`
    : '';
  const values = `${scopeValue(accountId, 'session', scopes.session)},${scopeValue(accountId, 'end_user', scopes.end_user)}`;
  return `${prompt},${request.pricePerMillion ?? ''},${plain},${values}`;
}

export function ratedArguments({
  ratedTokens: { all, uncached } = { all: 0, uncached: 0 },
}: SettleRequest): number[] {
  return [natural(all, 'ratedTokens'), natural(uncached, 'ratedTokens')];
}

import type { ParsedApiKey } from '@tollgate/contracts';
import type { AdmitReply, WindowState } from '@tollgate/keyspace';
import {
  affordableText,
  isHeldWhole,
  planHold,
  type HoldPlan,
  type HoldRequest,
} from '@tollgate/metering';
import type { Logger } from 'pino';
import { monotonicMs } from '../../monotonic-ms.ts';
import { Refusal } from '../../refusals.ts';
import type { ChargedPrice } from '../../journal/open-hold.ts';
import type { UsageRecorder } from '../../usage/usage-recorder.ts';
import type { Admission, AdmissionLimits, AdmissionStore, Admitted } from './admission.ts';
import { admitRefusal, isKeyDenied, tokensThere, unavailable } from './admit-refusal.ts';
import { CallerAccess, unanswered, type Access, type KnownCaller } from './caller-access.ts';
import { countPrompt } from '../request/count-prompt.ts';
import type { DenyCache } from './deny-cache.ts';
import { judgedBy, leavesHalf, outputLimitFor } from './output-limit.ts';
import { rateLimitHeaders } from './rate-limit-headers.ts';
import { rechargePending, type RechargeWaits } from './recharge-waits.ts';

type Keys = readonly ParsedApiKey[];
type Granted = Pick<
  Extract<AdmitReply, { kind: 'admitted' | 'duplicate' }>,
  'keyId' | 'subscriptionId' | 'generation' | 'grantedTokens' | 'epoch' | 'claims'
>;
interface Trial {
  key: ParsedApiKey;
  /** Null when Redis did not answer. */
  reply: AdmitReply | null;
}

interface Opening {
  readonly request: HoldRequest;
  readonly plan: HoldPlan;
  readonly price: ChargedPrice;
  readonly granted: Granted;
  readonly windows: readonly WindowState[];
}

/** The one place that asks Redis whether a request may run. Fails closed: whatever it cannot decide is refused (security S47). */
export class Admitter {
  readonly #store: AdmissionStore;
  readonly #recorder: UsageRecorder;
  readonly #denials: DenyCache;
  readonly #waits: RechargeWaits;
  readonly #access: CallerAccess;
  readonly #limits: AdmissionLimits;
  readonly #node: string;
  readonly #log: Logger;

  constructor({
    store,
    recorder,
    denials,
    waits,
    limits,
    node,
    log,
  }: {
    store: AdmissionStore;
    recorder: UsageRecorder;
    denials: DenyCache;
    waits: RechargeWaits;
    limits: AdmissionLimits;
    node: string;
    log: Logger;
  }) {
    this.#store = store;
    this.#recorder = recorder;
    this.#denials = denials;
    this.#waits = waits;
    this.#access = new CallerAccess({ store, failOpen: recorder.failOpen, log });
    this.#limits = limits;
    this.#node = node;
    this.#log = log;
  }

  /** One round trip; a second one only when the prompt's byte bound does not fit and its exact count may. Throws Refusal. */
  async admit(keys: Keys, admission: Admission): Promise<Admitted> {
    const refusal = this.#recorder.refusal();
    if (refusal !== null && refusal !== 'redis_away') throw unavailable();
    const { price } = admission;
    const request: HoldRequest = {
      ask: admission.ask,
      model: admission.model,
      upstreamModels: admission.upstreamModels,
      price,
      sliceOutputTokens: this.#limits.sliceOutputTokens,
      overrun: admission.overrun,
    };
    if (refusal === 'redis_away')
      return this.#admitAlone(keys, admission, { request, plan: planHold(request), price });
    const { key, reply, ...planned } = await this.#tryForFunds(keys, admission, request);
    if (reply === null) return this.#admitAlone([key], admission, { ...planned, price });
    if (reply.kind !== 'admitted' && (reply.kind !== 'duplicate' || reply.state !== 'open'))
      throw this.#refused(key, reply, admission, planned.plan);
    const windows = reply.kind === 'admitted' ? reply.windows : [];
    return this.#open(key, admission, { ...planned, price, granted: reply, windows });
  }

  /** Where the bound of the prompt's bytes does not fit, its exact count is asked about; where a due purchase makes it fit, it is waited for, once. */
  async #tryForFunds(
    keys: Keys,
    admission: Admission,
    bounded: HoldRequest,
  ): Promise<Trial & { request: HoldRequest; plan: HoldPlan }> {
    let request = bounded;
    let plan = planHold(request);
    let trial = await this.#try(keys, admission, plan);
    const isWaiting = trial.reply?.kind === 'recharge_due';
    if (isWaiting) trial = await this.#waitForTokens(trial.key, admission, plan);
    const thereMax = trial.reply && tokensThere(trial.reply);
    if (trial.reply && typeof thereMax === 'number') {
      const textTokensMax = affordableText(request, thereMax);
      const exactTextTokens = await countPrompt(admission.ask.prompt, textTokensMax);
      if (exactTextTokens > textTokensMax)
        throw this.#refused(trial.key, trial.reply, admission, plan);
      request = { ...request, exactTextTokens };
      plan = planHold(request);
      trial = await this.#try([trial.key], admission, plan);
      if (!isWaiting && trial.reply?.kind === 'recharge_due')
        trial = await this.#waitForTokens(trial.key, admission, plan);
    }
    return { ...trial, request, plan };
  }

  async #waitForTokens(key: ParsedApiKey, admission: Admission, plan: HoldPlan): Promise<Trial> {
    const hint = {
      accountId: key.accountId,
      modelId: admission.model.id,
      neededTokens: plan.minTokens,
    };
    const trial = await this.#waits.until(hint, admission.client, async () => {
      const again = await this.#try([key], admission, plan);
      return again.reply?.kind === 'recharge_due' ? undefined : again;
    });
    if (!trial) throw rechargePending();
    return trial;
  }

  /** Without Redis: refused, unless fail-open is on and may take it. */
  async #admitAlone(
    keys: Keys,
    admission: Admission,
    planned: { request: HoldRequest; plan: HoldPlan; price: ChargedPrice },
  ): Promise<Admitted> {
    const { rid, addressHex, model } = admission;
    for (const key of keys) {
      const granted = this.#recorder.failOpen.admit({
        rid,
        keyHash: key.hash,
        modelId: model.id,
        addressHex,
        tokens: planned.plan.wantTokens,
      });
      if (granted) return this.#open(key, admission, { ...planned, granted, windows: [] });
    }
    throw unavailable();
  }

  /** What Redis said of a key last is all that may stand for it. A key whose requests are counted cannot be served without its counts. */
  #remember(
    { accountId, hash: keyHash }: ParsedApiKey,
    { model, addressHex, isCounted = true }: Admission,
    reply: AdmitReply,
  ): void {
    const { failOpen } = this.#recorder;
    // Without its windows a reply does not tell whether the key has any.
    if (!failOpen.isOn || !isCounted) return;
    if (reply.kind === 'admitted' && reply.windows.length === 0 && reply.claims === '')
      failOpen.remember({ ...reply, accountId, keyHash, modelId: model.id, addressHex });
    else failOpen.forget(keyHash);
  }

  /** See `CallerAccess`. */
  inquire(...asked: Parameters<CallerAccess['inquire']>): Promise<Access> {
    return this.#access.inquire(...asked);
  }

  each(keys: Keys, addressHex: string): Promise<KnownCaller[]> {
    return this.#access.each(keys, addressHex);
  }

  accountOf(keys: Keys, addressHex: string): Promise<number> {
    return this.#access.accountOf(keys, addressHex);
  }

  async #try(keys: Keys, admission: Admission, plan: HoldPlan): Promise<Trial> {
    const { rid, addressHex, ask, model, price, isCounted = true } = admission;
    let first: Trial | undefined;
    for (const key of keys) {
      const remembered = isCounted ? this.#denials.get(key.hash, monotonicMs()) : undefined;
      if (remembered) throw remembered;
      const reply = await this.#store
        .admit({
          rid,
          accountId: key.accountId,
          keyHash: key.hash,
          modelId: model.id,
          modelName: model.name,
          priceVersionId: price.id,
          pricePerMillion: price.price_per_million,
          wantTokens: plan.wantTokens,
          minTokens: plan.minTokens,
          addressHex,
          concurrencyMax: this.#limits.concurrencyMax,
          endedHere: () =>
            this.#recorder.endedUnsent({ accountId: key.accountId, modelId: model.id }),
          leaseMs: this.#limits.leaseMs,
          node: this.#node,
          isCounted,
          isWhole: isHeldWhole(ask),
          leavesHalf: leavesHalf(admission),
        })
        .catch((error: unknown) => unanswered(error, this.#log));
      if (reply !== null) this.#remember(key, admission, reply);
      const trial = { key, reply };
      if (reply === null || !isKeyDenied(reply)) return trial;
      first ??= trial;
    }
    if (!first) throw new Refusal('invalid_api_key');
    return first;
  }

  async #open(
    key: ParsedApiKey,
    { rid, receivedAtMs, ask, model }: Admission,
    { request, plan, price, granted, windows }: Opening,
  ): Promise<Admitted> {
    const { keyId, subscriptionId, generation, grantedTokens, epoch, claims } = granted;
    const outputLimit = await outputLimitFor(ask, { request, plan, grantedTokens });
    const hold = this.#recorder.open({
      rid,
      accountId: key.accountId,
      keyHash: key.hash,
      keyId,
      modelId: model.id,
      subscriptionId,
      generation,
      epoch,
      ...(claims !== '' && { claims }),
      price,
      grantedTokens,
      sliceTokens: plan.sliceTokens,
      boundTokens: plan.boundTokens,
      isStream: ask.isStream,
      startedAtMs: receivedAtMs,
      protocol: ask.protocol,
    });
    return {
      accountId: key.accountId,
      keyId,
      keyHash: key.hash,
      subscriptionId,
      claims,
      price,
      plan: judgedBy(plan, ask, outputLimit),
      exactTextTokens: request.exactTextTokens ?? null,
      outputLimit,
      headers: rateLimitHeaders(windows),
      hold,
    };
  }

  #refused(
    key: ParsedApiKey,
    reply: AdmitReply,
    { ask, model }: Admission,
    { minTokens }: HoldPlan,
  ): Refusal {
    const refusal = admitRefusal(reply, { modelName: ask.model, minTokens });
    if (reply.kind === 'balance_too_low' || reply.kind === 'tokens_held')
      this.#recorder.refusedForFunds({
        accountId: key.accountId,
        modelId: model.id,
        neededTokens: minTokens,
      });
    if (reply.kind === 'rate_limited')
      this.#denials.set(key.hash, {
        refusal,
        retryAfterMs: reply.retryAfterMs,
        now: monotonicMs(),
      });
    return refusal;
  }
}

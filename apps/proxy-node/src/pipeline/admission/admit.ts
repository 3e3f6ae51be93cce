import type { ParsedApiKey } from '@tollgate/contracts';
import type { AdmitReply } from '@tollgate/keyspace';
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
import type { UsageRecorder } from '../../usage/usage-recorder.ts';
import type { Admission, AdmissionLimits, AdmissionStore, Admitted } from './admission.ts';
import { admitRefusal, isTooLong, tokensThere, unavailable } from './admit-refusal.ts';
import { CallerAccess, unanswered, type Access, type KnownCaller } from './caller-access.ts';
import { countPrompt } from '../request/count-prompt.ts';
import { askingOf, type DenyCache } from './deny-cache.ts';
import { judgedBy, leavesHalf, outputLimitFor } from './output-limit.ts';
import { rateLimitHeaders } from './rate-limit-headers.ts';
import { rechargePending, type RechargeWaits } from './recharge-waits.ts';
import { holdOf, isDenied, type Bid, type Keys, type Opening, type Trial } from './bid.ts';

/** Asks Redis whether a request may run; no other code does. It fails closed: it refuses whatever it cannot decide (security S47). */
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

  /** Takes one round trip, and a second one only when the prompt's byte bound does not fit and its exact count may. Rejects with Refusal. */
  admit(keys: Keys, admission: Admission): Promise<Admitted> {
    try {
      return this.#admit(keys, admission);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #admit(keys: Keys, admission: Admission): Promise<Admitted> {
    const refusal = this.#recorder.refusal();
    if (refusal !== null && refusal !== 'redis_away') throw unavailable();
    const request: HoldRequest = {
      ask: admission.ask,
      model: admission.model,
      upstreamModels: admission.upstreamModels,
      price: admission.price,
      sliceOutputTokens: this.#limits.sliceOutputTokens,
      overrun: admission.overrun,
    };
    const bid = { request, plan: planHold(request) };
    if (refusal === 'redis_away') return this.#admitAlone(keys, admission, bid);
    const [key, ...others] = keys;
    if (!key) throw new Refusal('invalid_api_key');
    return this.#ask(key, admission, bid.plan).then((reply) =>
      reply?.kind === 'admitted'
        ? this.#open(key, admission, { ...bid, granted: reply, windows: reply.windows })
        : this.#admitOn({ key, reply }, others, { admission, bid }),
    );
  }

  /** Continues when Redis did not admit the request at once. */
  async #admitOn(
    first: Trial,
    others: Keys,
    { admission, bid }: { admission: Admission; bid: Bid },
  ): Promise<Admitted> {
    const { key, reply, ...bound } = await this.#tryForFunds(
      await this.#tryOthers(first, others, { admission, plan: bid.plan }),
      admission,
      bid,
    );
    if (reply === null) return this.#admitAlone([key], admission, bound);
    if (reply.kind !== 'admitted' && (reply.kind !== 'duplicate' || reply.state !== 'open'))
      throw this.#refused(key, reply, admission, bound.plan);
    const windows = reply.kind === 'admitted' ? reply.windows : [];
    return this.#open(key, admission, { ...bound, granted: reply, windows });
  }

  /** Returns the first key that is not denied, and how it was answered; else how the first one was. */
  async #tryOthers(
    first: Trial,
    others: Keys,
    { admission, plan }: { admission: Admission; plan: HoldPlan },
  ): Promise<Trial> {
    let trial = first;
    for (const key of others) {
      if (!isDenied(trial)) return trial;
      trial = { key, reply: await this.#ask(key, admission, plan) };
    }
    return isDenied(trial) ? first : trial;
  }

  /** Counts the prompt exactly if the bound of its bytes does not fit, and waits once for a due purchase that would make it fit. */
  async #tryForFunds(first: Trial, admission: Admission, bid: Bid): Promise<Trial & Bid> {
    let { request, plan } = bid;
    let trial = first;
    if (isTooLong(trial.reply)) {
      request = { ...request, exactTextTokens: await countPrompt(admission.ask.prompt) };
      plan = planHold(request);
      trial = { key: trial.key, reply: await this.#ask(trial.key, admission, plan) };
    }
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
      trial = { key: trial.key, reply: await this.#ask(trial.key, admission, plan) };
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
      const reply = await this.#ask(key, admission, plan);
      return reply?.kind === 'recharge_due' ? undefined : { key, reply };
    });
    if (!trial) throw rechargePending();
    return trial;
  }

  /** Decides without Redis: the request is refused, unless fail-open is on and may take it. */
  async #admitAlone(keys: Keys, admission: Admission, bid: Bid): Promise<Admitted> {
    const { rid, addressHex, model } = admission;
    for (const key of keys) {
      const granted = this.#recorder.failOpen.admit({
        rid,
        keyHash: key.hash,
        modelId: model.id,
        addressHex,
        tokens: bid.plan.wantTokens,
      });
      if (granted) return this.#open(key, admission, { ...bid, granted, windows: [] });
    }
    throw unavailable();
  }

  /** Remembers only Redis' last answer about a key. A key whose requests are counted cannot be served without its counts. */
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

  /** Does what `CallerAccess` does. */
  inquire(...asked: Parameters<CallerAccess['inquire']>): Promise<Access> {
    return this.#access.inquire(...asked);
  }

  each(keys: Keys, addressHex: string): Promise<KnownCaller[]> {
    return this.#access.each(keys, addressHex);
  }

  accountOf(keys: Keys, addressHex: string): Promise<number> {
    return this.#access.accountOf(keys, addressHex);
  }

  /** Returns null when Redis did not answer. Throws a denial that is remembered. */
  #ask(key: ParsedApiKey, admission: Admission, plan: HoldPlan): Promise<AdmitReply | null> {
    const { rid, addressHex, ask, model, price, scopes, isCounted = true } = admission;
    const remembered = isCounted
      ? this.#denials.get(askingOf(key, admission), monotonicMs())
      : undefined;
    if (remembered) throw remembered;
    const asked = this.#store.admit({
      rid,
      accountId: key.accountId,
      keyHash: key.hash,
      modelId: model.id,
      modelName: model.name,
      priceVersionId: price.id,
      pricePerMillion: price.price_per_million,
      wantTokens: plan.wantTokens,
      minTokens: plan.minTokens,
      promptTokens: plan.promptTokens.estimate,
      promptTokensMax: plan.promptTokens.most,
      plainTokens: plan.plainTokens,
      addressHex,
      concurrencyMax: this.#limits.concurrencyMax,
      endedHere: () => this.#recorder.endedUnsent({ accountId: key.accountId, modelId: model.id }),
      leaseMs: this.#limits.leaseMs,
      node: this.#node,
      isCounted,
      ...(scopes && { scopes }),
      isWhole: isHeldWhole(ask),
      leavesHalf: leavesHalf(admission),
    });
    return asked.then(
      (reply) => {
        this.#remember(key, admission, reply);
        return reply;
      },
      (error: unknown) => unanswered(error, this.#log),
    );
  }

  #open(key: ParsedApiKey, admission: Admission, opening: Opening): Admitted | Promise<Admitted> {
    const { request, plan, granted } = opening;
    const { grantedTokens, outputTokensMax } = granted;
    const limit = outputLimitFor(admission.ask, { request, plan, grantedTokens, outputTokensMax });
    return limit instanceof Promise
      ? limit.then((outputLimit) => this.#opened(key, admission, opening, outputLimit))
      : this.#opened(key, admission, opening, limit);
  }

  #opened(
    key: ParsedApiKey,
    admission: Admission,
    opening: Opening,
    outputLimit: Admitted['outputLimit'],
  ): Admitted {
    const { ask, price } = admission;
    const { request, plan, granted, windows } = opening;
    const { keyId, subscriptionId, claims } = granted;
    const hold = this.#recorder.open(holdOf(key, admission, opening));
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

  #refused(key: ParsedApiKey, reply: AdmitReply, admission: Admission, plan: HoldPlan): Refusal {
    const { ask, model } = admission;
    const refusal = admitRefusal(reply, { modelName: ask.model, plan });
    if (reply.kind === 'balance_too_low' || reply.kind === 'tokens_held')
      this.#recorder.refusedForFunds({
        accountId: key.accountId,
        modelId: model.id,
        neededTokens: plan.minTokens,
      });
    if (reply.kind === 'rate_limited')
      this.#denials.set(askingOf(key, admission), {
        rate: reply.rate,
        refusal,
        retryAfterMs: reply.retryAfterMs,
        now: monotonicMs(),
      });
    return refusal;
  }
}

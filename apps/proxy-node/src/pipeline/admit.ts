import type { ParsedApiKey } from '@tollgate/contracts';
import {
  isUnanswered,
  type AccessReply,
  type AccessRequest,
  type AdmitReply,
  type InquiryReply,
  type WindowState,
} from '@tollgate/keyspace';
import { affordableText, planHold, type HoldPlan, type HoldRequest } from '@tollgate/metering';
import type { Logger } from 'pino';
import { monotonicMs } from '../monotonic-ms.ts';
import { Refusal } from '../refusals.ts';
import type { Books, ChargedPrice } from '../usage/books.ts';
import type { Admission, AdmissionLimits, AdmissionStore, Admitted } from './admission.ts';
import {
  accessRefusal,
  admitRefusal,
  INQUIRIES_PER_MINUTE,
  isKeyDenied,
  tooManyInquiries,
  unavailable,
} from './admit-refusal.ts';
import { countPrompt } from './count-prompt.ts';
import type { DenyCache } from './deny-cache.ts';
import { judgedBy, outputLimitFor } from './output-limit.ts';
import { rateLimitHeaders } from './rate-limit-headers.ts';

type Keys = readonly ParsedApiKey[];
type Access = Extract<AccessReply, { kind: 'allowed' }> & { accountId: number };
type Granted = Pick<
  Extract<AdmitReply, { kind: 'admitted' | 'duplicate' }>,
  'keyId' | 'subscriptionId' | 'generation' | 'grantedTokens' | 'epoch'
>;
interface Trial {
  key: ParsedApiKey;
  /** Null when Redis did not answer. */
  reply: AdmitReply | null;
}

/** The one place that asks Redis whether a request may run. Fails closed: whatever it cannot decide is refused (security S47). */
export class Admitter {
  readonly #store: AdmissionStore;
  readonly #books: Books;
  readonly #denials: DenyCache;
  readonly #limits: AdmissionLimits;
  readonly #node: string;
  readonly #log: Logger;

  constructor({
    store,
    books,
    denials,
    limits,
    node,
    log,
  }: {
    store: AdmissionStore;
    books: Books;
    denials: DenyCache;
    limits: AdmissionLimits;
    node: string;
    log: Logger;
  }) {
    this.#store = store;
    this.#books = books;
    this.#denials = denials;
    this.#limits = limits;
    this.#node = node;
    this.#log = log;
  }

  /** One round trip; a second one only when the prompt's byte bound does not fit and its exact count may. Throws Refusal. */
  async admit(keys: Keys, admission: Admission): Promise<Admitted> {
    const refusal = this.#books.refusal();
    if (refusal !== null && refusal !== 'redis_away') throw unavailable();
    const { price } = admission;
    let request: HoldRequest = {
      ask: admission.ask,
      model: admission.model,
      price,
      sliceOutputTokens: this.#limits.sliceOutputTokens,
      overrun: admission.overrun,
    };
    let plan = planHold(request);
    if (refusal === 'redis_away')
      return this.#admitAlone(keys, admission, { request, plan, price });
    let trial = await this.#try(keys, admission, price, plan);
    if (trial.reply?.kind === 'balance_too_low' || trial.reply?.kind === 'tokens_held') {
      const textTokensMax = affordableText(
        request,
        trial.reply.balance - (trial.reply.kind === 'tokens_held' ? trial.reply.held : 0),
      );
      const exactTextTokens = await countPrompt(admission.ask.prompt, textTokensMax);
      if (exactTextTokens > textTokensMax) throw this.#refused(trial.key, trial.reply, admission);
      request = { ...request, exactTextTokens };
      plan = planHold(request);
      trial = await this.#try([trial.key], admission, price, plan);
    }
    const { key, reply } = trial;
    if (reply === null) return this.#admitAlone([key], admission, { request, plan, price });
    if (reply.kind !== 'admitted' && (reply.kind !== 'duplicate' || reply.state !== 'open'))
      throw this.#refused(key, reply, admission);
    const windows = reply.kind === 'admitted' ? reply.windows : [];
    return this.#open(key, admission, { request, plan, price, granted: reply, windows });
  }

  /** Without Redis: refused, unless fail-open is on and may take it. */
  async #admitAlone(
    keys: Keys,
    admission: Admission,
    planned: { request: HoldRequest; plan: HoldPlan; price: ChargedPrice },
  ): Promise<Admitted> {
    const { rid, addressHex, model } = admission;
    for (const key of keys) {
      const granted = this.#books.failOpen.admit({
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
    const { failOpen } = this.#books;
    // Without its windows a reply does not tell whether the key has any.
    if (!failOpen.isOn || !isCounted) return;
    if (reply.kind === 'admitted' && reply.windows.length === 0)
      failOpen.remember({ ...reply, accountId, keyHash, modelId: model.id, addressHex });
    else failOpen.forget(keyHash);
  }

  /** Who the caller is and what they may use, counted in the window of inquiries and without admitting anything. Throws the same refusals as `admit`. */
  async inquire(keys: Keys, addressHex: string): Promise<Access> {
    const access = await this.#access(keys, addressHex, (request) =>
      this.#store.inquire({ ...request, limitAtLeast: INQUIRIES_PER_MINUTE }),
    );
    if (access === null) throw unavailable();
    return access;
  }

  /** The caller's account, known before the body is read. Without Redis that of a key which fail-open may serve. Throws as `access` does. */
  async accountOf(keys: Keys, addressHex: string): Promise<number> {
    const access = await this.#access(keys, addressHex);
    if (access !== null) return access.accountId;
    const known = keys.find(({ hash }) =>
      this.#books.failOpen.knows({ keyHash: hash, addressHex }),
    );
    if (!known) throw unavailable();
    return known.accountId;
  }

  /** Null when Redis did not answer. */
  async #access(
    keys: Keys,
    addressHex: string,
    ask = (request: AccessRequest): Promise<InquiryReply> => this.#store.access(request),
  ): Promise<Access | null> {
    let denial: Refusal | undefined;
    for (const { accountId, hash } of keys) {
      const reply = await ask({ accountId, keyHash: hash, addressHex }).catch((error: unknown) =>
        this.#unanswered(error),
      );
      if (reply === null) return null;
      if (reply.kind === 'rate_limited') throw tooManyInquiries(reply);
      if (reply.kind === 'allowed') return { ...reply, accountId };
      this.#books.failOpen.forget(hash);
      if (reply.kind === 'fenced') throw unavailable();
      denial ??= accessRefusal(reply);
    }
    throw denial ?? new Refusal('invalid_api_key');
  }

  async #try(
    keys: Keys,
    admission: Admission,
    price: ChargedPrice,
    plan: HoldPlan,
  ): Promise<Trial> {
    const { rid, addressHex, model, isCounted = true } = admission;
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
          wantTokens: plan.wantTokens,
          minTokens: plan.minTokens,
          addressHex,
          concurrencyMax: this.#limits.concurrencyMax,
          leaseMs: this.#limits.leaseMs,
          node: this.#node,
          isCounted,
        })
        .catch((error: unknown) => this.#unanswered(error));
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
    {
      request,
      plan,
      price,
      granted,
      windows,
    }: {
      request: HoldRequest;
      plan: HoldPlan;
      price: ChargedPrice;
      granted: Granted;
      windows: readonly WindowState[];
    },
  ): Promise<Admitted> {
    const { keyId, subscriptionId, generation, grantedTokens, epoch } = granted;
    const outputLimit = await outputLimitFor(ask, { request, plan, grantedTokens });
    const hold = this.#books.open({
      rid,
      accountId: key.accountId,
      keyHash: key.hash,
      keyId,
      modelId: model.id,
      subscriptionId,
      generation,
      epoch,
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
      price,
      plan: judgedBy(plan, ask, outputLimit),
      exactTextTokens: request.exactTextTokens ?? null,
      outputLimit,
      headers: rateLimitHeaders(windows),
      hold,
    };
  }

  #refused(key: ParsedApiKey, reply: AdmitReply, { ask, model }: Admission): Refusal {
    const refusal = admitRefusal(reply, ask.model);
    if (reply.kind === 'balance_too_low' || reply.kind === 'tokens_held')
      this.#books.refusedForFunds({ accountId: key.accountId, modelId: model.id });
    if (reply.kind === 'rate_limited')
      this.#denials.set(key.hash, {
        refusal,
        retryAfterMs: reply.retryAfterMs,
        now: monotonicMs(),
      });
    return refusal;
  }

  /** Only silence may be stood in for. A Redis that answers with an error (out of memory, too few replicas) has said no. */
  #unanswered(error: unknown): null {
    const isSilent = isUnanswered(error);
    this.#log.error(
      { err: error },
      isSilent
        ? 'admission failed: Redis did not answer'
        : 'admission failed: Redis answered with an error',
    );
    if (!isSilent) throw unavailable();
    return null;
  }
}

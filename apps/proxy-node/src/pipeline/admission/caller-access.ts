import type { ParsedApiKey } from '@tollgate/contracts';
import {
  isUnanswered,
  type AccessReply,
  type AccessRequest,
  type InquiryReply,
} from '@tollgate/keyspace';
import type { Logger } from 'pino';
import { Refusal } from '../../refusals.ts';
import type { UsageRecorder } from '../../usage/usage-recorder.ts';
import type { AdmissionStore } from './admission.ts';
import {
  accessRefusal,
  INQUIRIES_PER_MINUTE,
  INQUIRIES_WITHOUT_RPM,
  tooManyInquiries,
  tooManyRequests,
  unavailable,
} from './admit-refusal.ts';

type Keys = readonly ParsedApiKey[];
export type Access = Extract<AccessReply, { kind: 'allowed' }> & { accountId: number };

/** Holds one of the presented keys, and the caller that it identifies. */
export type KnownCaller = Access & { key: ParsedApiKey };

interface Asking {
  ask: (request: AccessRequest) => Promise<InquiryReply>;
  tooMany: typeof tooManyInquiries;
}

export interface CallerAccessParts {
  store: Pick<AdmissionStore, 'access' | 'inquire'>;
  failOpen: Pick<UsageRecorder['failOpen'], 'forget' | 'knows'>;
  log: Logger;
}

/** Asks Redis who a caller is, without admitting anything. */
export class CallerAccess {
  readonly #store: CallerAccessParts['store'];
  readonly #failOpen: CallerAccessParts['failOpen'];
  readonly #log: Logger;

  constructor({ store, failOpen, log }: CallerAccessParts) {
    this.#store = store;
    this.#failOpen = failOpen;
    this.#log = log;
  }

  /** Returns the caller and its rights, counted in the window of inquiries and without admitting anything. Throws the same refusals as `admit`. */
  async inquire(keys: Keys, addressHex: string, { isRequest = false } = {}): Promise<Access> {
    const access = await this.#access(keys, addressHex, {
      ask: (request) =>
        this.#store.inquire({
          ...request,
          limitAtLeast: INQUIRIES_PER_MINUTE,
          limitWithoutRpm: INQUIRIES_WITHOUT_RPM,
          isRequest,
        }),
      tooMany: isRequest ? tooManyRequests : tooManyInquiries,
    });
    if (access === null) throw unavailable();
    return access;
  }

  /** Returns the caller by each of these keys that is admitted. Throws as `access` does if none is. */
  async each(keys: Keys, addressHex: string): Promise<KnownCaller[]> {
    const callers: KnownCaller[] = [];
    let denial: Refusal | undefined;
    for (const key of keys) {
      try {
        const access = await this.#access([key], addressHex);
        if (access === null) throw unavailable();
        callers.push({ ...access, key });
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        denial ??= error;
      }
    }
    if (denial && callers.length === 0) throw denial;
    return callers;
  }

  /** Returns the caller's account, which is known before the body is read; without Redis, the account of a key that fail-open may serve. Throws as `access` does. */
  async accountOf(keys: Keys, addressHex: string): Promise<number> {
    const access = await this.#access(keys, addressHex);
    if (access !== null) return access.accountId;
    const known = keys.find(({ hash }) => this.#failOpen.knows({ keyHash: hash, addressHex }));
    if (!known) throw unavailable();
    return known.accountId;
  }

  /** Returns null when Redis did not answer. */
  async #access(
    keys: Keys,
    addressHex: string,
    { ask, tooMany }: Asking = {
      ask: (request) => this.#store.access(request),
      tooMany: tooManyInquiries,
    },
  ): Promise<Access | null> {
    let denial: Refusal | undefined;
    for (const { accountId, hash } of keys) {
      const reply = await ask({ accountId, keyHash: hash, addressHex }).catch((error: unknown) =>
        unanswered(error, this.#log),
      );
      if (reply === null) return null;
      if (reply.kind === 'rate_limited') throw tooMany(reply);
      if (reply.kind === 'allowed') return { ...reply, accountId };
      this.#failOpen.forget(hash);
      if (reply.kind === 'fenced') throw unavailable();
      denial ??= accessRefusal(reply);
    }
    throw denial ?? new Refusal('invalid_api_key');
  }
}

/** Only silence may be stood in for. A Redis that answers with an error (out of memory, too few replicas) has said no. */
export function unanswered(error: unknown, log: Logger): null {
  const isSilent = isUnanswered(error);
  log.error(
    { err: error },
    isSilent
      ? 'admission failed: Redis did not answer'
      : 'admission failed: Redis answered with an error',
  );
  if (!isSilent) throw unavailable();
  return null;
}

import type {
  AccessReply,
  AccessRequest,
  AdmitReply,
  AdmitRequest,
  InquiryReply,
  InquiryRequest,
  NamedScopes,
} from '@tollgate/keyspace';
import type { HoldPlan, Overrun } from '@tollgate/metering';
import type { Ask } from '@tollgate/protocols';
import type { SnapshotModel } from '@tollgate/snapshot';
import type { ClientReply } from '../../http/client-reply.ts';
import type { ChargedPrice } from '../../journal/open-hold.ts';
import type { HoldHandle } from '../../usage/usage-recorder.ts';

/** Is the part of `MeteringStore` that admission needs. */
export interface AdmissionStore {
  admit(request: AdmitRequest): Promise<AdmitReply>;
  access(request: AccessRequest): Promise<AccessReply>;
  inquire(request: InquiryRequest): Promise<InquiryReply>;
}

export interface AdmissionLimits {
  concurrencyMax: number;
  leaseMs: number;
  sliceOutputTokens: number;
}

/** Describes an admitted request: who asks, at which price, with which hold. The code that has it must settle it. */
export interface Admitted {
  readonly accountId: number;
  readonly keyId: number;
  readonly keyHash: string;
  readonly subscriptionId: number;
  /** Holds its claims on budgets, as `readClaims` reads them; '' without any. */
  readonly claims: string;
  readonly price: ChargedPrice;
  readonly plan: HoldPlan;
  /** Counts the exact tokens of the prompt's text, if the hold required them. */
  readonly exactTextTokens: number | null;
  /** Is the limit of each choice, to be written into the upstream request; null for embeddings. */
  readonly outputLimit: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly hold: HoldHandle;
}

export interface Admission {
  rid: string;
  receivedAtMs: number;
  addressHex: string;
  ask: Ask;
  model: SnapshotModel;
  /** Holds the names of the model at the upstreams that may serve the request. */
  upstreamModels: readonly string[];
  price: ChargedPrice;
  /** Is the client of the request, which waits for tokens only while its client is connected. */
  client: Pick<ClientReply, 'isGone' | 'onGone'>;
  /** Names the session and the end user, for budgets that count each of them by itself. The default is none. */
  scopes?: NamedScopes;
  /** Is false for a request that the key's windows have counted already. The default is true. */
  isCounted?: boolean;
  /** Is the overrun of an upstream that may serve the request and exceeds its limits; null if none does. The hold covers it. */
  overrun: Overrun | null;
}

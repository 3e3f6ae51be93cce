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

/** The part of `MeteringStore` admission needs. */
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

/** One admitted request: who, at which price, with which hold. The holder of this must settle it. */
export interface Admitted {
  readonly accountId: number;
  readonly keyId: number;
  readonly keyHash: string;
  readonly subscriptionId: number;
  /** On budgets, as `readClaims` reads them; '' without any. */
  readonly claims: string;
  readonly price: ChargedPrice;
  readonly plan: HoldPlan;
  /** The exact tokens of the prompt's text, if the hold required them. */
  readonly exactTextTokens: number | null;
  /** The limit of each choice, to be written into the upstream request; null for embeddings. */
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
  /** Names of the model at the upstreams that may serve the request. */
  upstreamModels: readonly string[];
  price: ChargedPrice;
  /** The client of the request, which waits for tokens only while its client is connected. */
  client: Pick<ClientReply, 'isGone' | 'onGone'>;
  /** For budgets that count each session or each end user by itself. None by default. */
  scopes?: NamedScopes;
  /** False for a request that the key's windows have counted already. True by default. */
  isCounted?: boolean;
  /** The overrun of an upstream that may serve the request and exceeds its limits; null if none does. The hold covers it. */
  overrun: Overrun | null;
}

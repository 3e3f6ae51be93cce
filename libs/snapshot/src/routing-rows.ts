import type { AuthType, FurtherEndpoint, UpstreamProtocol, WeightField } from '@tollgate/contracts';
import type {
  FailoverSettings,
  MODEL_KINDS,
  LIMIT_FIELD_SETTINGS,
  OutputLimitField,
  PriceTier,
  PriceVersion,
  UpstreamFields,
} from './snapshot-document.ts';

/** Holds the rows of routing in PostgreSQL, read in one consistent moment: the only input of `compileSnapshot` and `findProblems`. Deleted rows are left out. */
export interface RoutingRows {
  models: readonly ModelRow[];
  prices: readonly PriceRow[];
  upstreams: readonly UpstreamRow[];
  routes: readonly RouteRow[];
  /** Lists the protocols that every node has reported to speak, and its further abilities. An upstream of another one waits, but for those that every release speaks. */
  spokenProtocols: readonly string[];
}

export interface ModelRow {
  id: number;
  name: string;
  aliases: readonly string[];
  displayName: string;
  kind: (typeof MODEL_KINDS)[number];
  ownedBy: string;
  /** Is the time at which the model was created, in Unix ms. */
  createdAtMs: number;
  contextWindow: number | null;
  maxOutputTokens: number | null;
  defaultOutputTokens: number | null;
  unboundedInputTokens: number | null;
  isOnShelf: boolean;
  failover: FailoverSettings;
  readsMoreThanSent: boolean;
  cachesPrompts: boolean;
}

export interface PriceRow {
  id: number;
  modelId: number;
  /** Is the time from which the price is in force, in Unix ms. */
  effectiveAtMs: number;
  /** Holds weights in millionths, by class. A weight that is not set is absent: its parent's holds. */
  weights: Pick<PriceVersion, WeightField>;
  /** Holds the tiers, ascending; empty without any. */
  tiers: readonly PriceTier[];
  /** Maps premiums to millionths. */
  multipliers: Readonly<Record<string, number>>;
  /** Is the price of a million charged tokens in micro-units. */
  pricePerMillion: number;
  /** Is true for a price of zero that no administrator declared free. */
  isUndeclaredZero: boolean;
}

export interface UpstreamRow {
  id: number;
  name: string;
  protocol: UpstreamProtocol;
  baseUrl: string;
  authType: AuthType;
  sealedApiKey: string | null;
  headers: Readonly<Record<string, string>>;
  connectTimeoutMs: number;
  firstTokenTimeoutMs: number;
  idleTimeoutMs: number;
  totalTimeoutMs: number;
  maxConcurrency: number | null;
  stopsBillingOnClose: boolean | null;
  endpoints: readonly FurtherEndpoint[] | null;
  passesFileIds: boolean;
  fields: UpstreamFields;
  enabled: boolean;
  /** All that it has, its own first. Empty where it needs none. */
  credentials: readonly CredentialRow[];
}

/** `id`: 0 is the upstream's own. */
export interface CredentialRow {
  id: number;
  authType: AuthType;
  sealed: string;
  weight: number;
  rpm: number | null;
  tpm: number | null;
  enabled: boolean;
}

export interface RouteRow {
  id: number;
  modelId: number;
  upstreamId: number;
  upstreamModel: string;
  priority: number;
  weight: number;
  enabled: boolean;
  outputLimitField: (typeof LIMIT_FIELD_SETTINGS)[number];
  /** This field and the next are those of the family of its upstream model; null where it is not known. */
  familyLimitField: OutputLimitField | null;
  familyContextWindow: number | null;
  contextWindow: number | null;
}

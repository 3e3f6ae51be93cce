import { randomBytes, randomUUID } from 'node:crypto';
import { createControlPlaneMac, createSecretBox, type UpstreamProtocol } from '@tollgate/contracts';
import type { FleetStore } from '@tollgate/keyspace';
import {
  publishSnapshot,
  sealSnapshot,
  type SnapshotDocument,
  type SnapshotModel,
  type SnapshotUpstream,
} from '@tollgate/snapshot';

const INSTALLATION = randomUUID();
const WEIGHT = 1_000_000;

export const ENCRYPTION_KEY = randomBytes(32).toString('base64url');
export const UPSTREAM_KEY = 'sk-upstream-secret-0123456789';

export interface UpstreamSpec {
  baseUrl: string;
  protocol?: UpstreamProtocol;
  priority?: number;
  /** The upstream of this model serves instead of another one. */
  upstreamOf?: SnapshotModel;
  /** Is `real-<id>` unless given. */
  upstreamModel?: string;
  /** Names the field that limits the output; `max_tokens` unless given. */
  outputLimitField?: 'max_tokens' | 'max_completion_tokens';
  /** Is the credential as its kind is sealed; `UPSTREAM_KEY` unless given. */
  secret?: string;
  /** Credentials that share its requests; 0 is the upstream's own. */
  credentials?: readonly { id: number; secret: string; weight?: number }[];
  overrides?: Partial<SnapshotUpstream>;
}

/** Plays the control plane's half of a node's configuration: models with their upstreams, published as they are added. */
export class PublishedModels {
  readonly #fleet: FleetStore;
  readonly #box = createSecretBox({ current: ENCRYPTION_KEY });
  readonly #mac = createControlPlaneMac({ current: ENCRYPTION_KEY });
  readonly #document: SnapshotDocument = { format: 1, models: [], upstreams: [], routes: [] };
  #version = 0;
  #lastId = 1;

  constructor(fleet: FleetStore) {
    this.#fleet = fleet;
  }

  /** Is the version of the document that was published last. */
  get version(): number {
    return this.#version;
  }

  /** Returns an id for whatever a test makes. */
  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** Publishes a model with these upstreams. */
  async add(upstreams: UpstreamSpec[], change: Partial<SnapshotModel>): Promise<SnapshotModel> {
    const id = this.nextId();
    const model: SnapshotModel = { ...modelOf(id), ...change };
    this.#document.models.push(model);
    for (const upstream of upstreams)
      this.#addRoute(upstream, id, this.#upstreamOf(upstream) ?? this.#addUpstream(upstream));
    this.#version += 1;
    await this.publish();
    return model;
  }

  /** Changes the upstream of a model, as an administrator would, and publishes. */
  async changeUpstream(
    { id: modelId }: SnapshotModel,
    change: (upstream: SnapshotUpstream) => void,
  ): Promise<void> {
    const { upstreams, routes } = this.#document;
    const route = routes.find((each) => each.model_id === modelId);
    const upstream = upstreams.find(({ id }) => id === route?.upstream_id);
    if (upstream) change(upstream);
    this.#version += 1;
    await this.publish();
  }

  /** Publishes the present document, sealed, as the control plane does. */
  async publish(): Promise<void> {
    const snapshot = publishSnapshot({
      version: this.#version,
      document: structuredClone(this.#document),
      publishedAtMs: Date.now(),
    });
    const { version, checksum } = snapshot;
    const seal = { installation: INSTALLATION, lineage: 1, version, checksum };
    await this.#fleet.publish(snapshot, sealSnapshot(this.#mac, seal));
  }

  #upstreamOf({ upstreamOf }: UpstreamSpec): number | undefined {
    return this.#document.routes.find(({ model_id: modelId }) => modelId === upstreamOf?.id)
      ?.upstream_id;
  }

  #addUpstream({
    baseUrl,
    protocol = 'openai',
    secret = UPSTREAM_KEY,
    credentials,
    overrides = {},
  }: UpstreamSpec): number {
    const id = this.nextId();
    const deadlines = {
      connect_timeout_ms: 1_000,
      first_token_timeout_ms: 5_000,
      idle_timeout_ms: 5_000,
      total_timeout_ms: 20_000,
    };
    const sealed = this.#box.seal(secret, { upstreamId: id, baseUrl });
    this.#document.upstreams.push({
      id,
      name: `upstream-${id}`,
      protocol,
      base_url: baseUrl,
      sealed_api_key: sealed,
      headers: {},
      ...deadlines,
      max_concurrency: null,
      ...(credentials && {
        credentials: credentials.map(({ id: credentialId, secret: own, weight = 1 }) => ({
          id: credentialId,
          weight,
          sealed_api_key: this.#box.seal(own, { upstreamId: id, credentialId, baseUrl }),
        })),
      }),
      ...overrides,
    });
    return id;
  }

  #addRoute(
    { priority = 0, upstreamModel, outputLimitField = 'max_tokens', upstreamOf }: UpstreamSpec,
    modelId: number,
    upstreamId: number,
  ): void {
    this.#document.routes.push({
      id: upstreamOf ? this.nextId() : upstreamId,
      model_id: modelId,
      upstream_id: upstreamId,
      upstream_model: upstreamModel ?? `gpt-4-${upstreamId}`,
      priority,
      weight: 1,
      output_limit_field: outputLimitField,
    });
  }
}

function modelOf(id: number): SnapshotModel {
  const weights = {
    weight_input: WEIGHT,
    weight_output: WEIGHT,
    weight_cache_read: WEIGHT,
    weight_cache_write: WEIGHT,
  };
  return {
    id,
    name: `model-${id}`,
    display_name: `Model ${id}`,
    kind: 'chat',
    owned_by: 'tollgate',
    created: 1_767_225_600,
    context_window: null,
    max_output_tokens: null,
    unbounded_input_tokens: null,
    is_on_shelf: true,
    prices: [{ id, effective_at: 0, ...weights, price_per_million: 2_000_000 }],
  };
}

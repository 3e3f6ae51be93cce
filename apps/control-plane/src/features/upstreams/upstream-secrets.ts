import { Inject, Injectable } from '@nestjs/common';
import type { SecretBox, SecretForm, SecretPlace } from '@tollgate/contracts';
import { createHmac } from 'node:crypto';
import { DataSource } from 'typeorm';
import { CONFIG, derivedKey, type Config } from '../../config.ts';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { repeatedLook } from '../../platform/database/repeated-looks.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { SECRET_BOX } from '../../platform/secrets/secrets.module.ts';
import { NodeRegistry } from '../proxy-nodes/node-registry.ts';
import { SnapshotsService } from '../snapshots/snapshots.service.ts';
import { readSealed, sealAgain } from './sealed-upstreams.sql.ts';

/** A fleet is updated within minutes; its secrets follow soon after. */
const EVERY_MS = 2_000;
const RETRY_MS = 5_000;

export interface Sealer {
  seal: (apiKey: string, place: SecretPlace) => string;
}

/**
 * Seals upstream keys: bound to their address as soon as every registered node reads that form, and under the current key. Those sealed
 * otherwise are sealed again in the background.
 */
@Injectable()
export class UpstreamSecrets extends BackgroundService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly transactions: Transactions,
    private readonly nodes: NodeRegistry,
    private readonly snapshots: SnapshotsService,
    @Inject(SECRET_BOX) private readonly box: SecretBox,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    super({
      name: 'upstream-secrets',
      everyMs: EVERY_MS,
      retryMs: RETRY_MS,
      failing: 'upstream keys cannot be sealed again',
    });
  }

  /** Equal for equal keys, and of no use to find one: for comparing a repeated request with the first. */
  fingerprint(apiKey: string): string {
    const key = derivedKey(this.config.ENCRYPTION_KEY, 'upstream-fingerprint');
    return createHmac('sha256', key).update(apiKey).digest('hex');
  }

  /** Reads which form nodes can read: for use before a transaction, which has no second connection. */
  async sealer(): Promise<Sealer> {
    const form = await this.readableForm();
    return { seal: (apiKey, place) => this.box.seal(apiKey, place, form) };
  }

  /** The newest that every registered node reads; the earlier one again once a node went back to a release that knows no other. */
  private async readableForm(): Promise<SecretForm> {
    return (await this.nodes.canAll('sealed_secret_v2')) ? 'v2' : 'v1';
  }

  protected async runOnce(): Promise<void> {
    const form = await this.readableForm();
    const source = { query: (sql: string) => repeatedLook(this.dataSource, sql) };
    if ((await readSealed(source, this.box, form)).outdated.length === 0) return;
    await this.transactions.run(async (tx) => {
      if ((await sealAgain(tx, this.box, form)) > 0) this.snapshots.changed(tx);
    });
  }
}

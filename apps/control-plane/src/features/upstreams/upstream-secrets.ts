import { Inject, Injectable } from '@nestjs/common';
import type { SecretBox } from '@tollgate/contracts';
import { createHmac } from 'node:crypto';
import { DataSource } from 'typeorm';
import { CONFIG, derivedKey, type Config } from '../../config.ts';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { repeatedLook } from '../../platform/database/repeated-looks.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { SECRET_BOX } from '../../platform/secrets/secrets.module.ts';
import { SnapshotsService } from '../snapshots/snapshots.service.ts';
import { readSealed, sealAgain } from './sealed-upstreams.sql.ts';

const EVERY_MS = 2_000;
const RETRY_MS = 5_000;

/** Seals upstream keys under the current key again in the background. */
@Injectable()
export class UpstreamSecrets extends BackgroundService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly transactions: Transactions,
    private readonly snapshots: SnapshotsService,
    @Inject(SECRET_BOX) readonly box: SecretBox,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    super({
      name: 'upstream-secrets',
      everyMs: EVERY_MS,
      retryMs: RETRY_MS,
      failing: 'upstream keys cannot be sealed again',
    });
  }

  /** Returns equal texts for equal keys, and of no use to find one: they compare a repeated request with the first. */
  fingerprint(apiKey: string): string {
    const key = derivedKey(this.config.ENCRYPTION_KEY, 'upstream-fingerprint');
    return createHmac('sha256', key).update(apiKey).digest('hex');
  }

  protected async runOnce(): Promise<void> {
    const source = { query: (sql: string) => repeatedLook(this.dataSource, sql) };
    if ((await readSealed(source, this.box)).outdated.length === 0) return;
    await this.transactions.run(async (tx) => {
      if ((await sealAgain(tx, this.box)) > 0) this.snapshots.changed(tx);
    });
  }
}

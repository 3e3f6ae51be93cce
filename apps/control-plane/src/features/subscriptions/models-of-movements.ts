import { Injectable, type OnModuleInit } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { z } from 'zod';
import { ModelsService } from '../models/models.service.ts';
import { WalletLogsService } from '../wallet/wallet-logs.service.ts';
import { SubscriptionRow } from './subscription.entity.ts';

const row = z.object({ reference: z.string(), model_id: z.number() });

/** Says for the wallet's ledger which model a purchase or a refund was for: its references are made here. */
@Injectable()
export class ModelsOfMovements implements OnModuleInit {
  constructor(
    @InjectRepository(SubscriptionRow) private readonly subscriptions: Repository<SubscriptionRow>,
    private readonly models: ModelsService,
    private readonly walletLogs: WalletLogsService,
  ) {}

  onModuleInit(): void {
    this.walletLogs.nameModelsBy((userId, references) => this.find(userId, references));
  }

  private async find(
    userId: number,
    references: readonly string[],
  ): Promise<Map<string, { id: number; name: string }>> {
    const rows: unknown[] = await this.subscriptions.query(
      `SELECT r.reference, s.model_id FROM unnest($2::text[]) AS r(reference)
         JOIN subscriptions s ON s.user_id = $1 AND r.reference LIKE 'credit:' || s.id || ':%'
       UNION
       SELECT e.reference, s.model_id FROM subscriptions s
         JOIN token_entries e ON e.subscription_id = s.id AND e.kind = 'withdrawal' AND e.reference = ANY($2::text[])
       WHERE s.user_id = $1`,
      [userId, references],
    );
    const found = rows.map((one) => row.parse(one));
    const names = await this.models.namesOf(found.map(({ model_id: id }) => id));
    return new Map(
      found.flatMap(({ reference, model_id: id }) => {
        const model = names.get(id);
        return model ? [[reference, { id, name: model.name }]] : [];
      }),
    );
  }
}

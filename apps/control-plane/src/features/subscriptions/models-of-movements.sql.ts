import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { ModelsService } from '../models/models.service.ts';

const row = z.object({ reference: z.string(), model_id: z.number() });

/** Finds the model of a purchase or a refund in the wallet's ledger. This feature makes the references of both. */
@Injectable()
export class ModelsOfMovements {
  constructor(
    private readonly dataSource: DataSource,
    private readonly models: ModelsService,
  ) {}

  async find(
    userId: number,
    references: readonly string[],
  ): Promise<Map<string, { id: number; name: string }>> {
    const rows: unknown[] = await this.dataSource.query(
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

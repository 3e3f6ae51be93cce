import { z } from 'zod';
import { listQuery } from '../../platform/http/list-query.ts';

export const alertListSchema = listQuery({
  sorts: ['id', 'raised_at', 'last_seen_at'],
  sort: '-id',
  filters: {
    status: z.enum(['open', 'resolved', 'all']).default('open'),
    rule: z.string().max(64).optional(),
    severity: z.enum(['info', 'warning', 'critical']).optional(),
    subject: z.string().max(200).optional(),
  },
});
export type AlertList = z.infer<typeof alertListSchema>;

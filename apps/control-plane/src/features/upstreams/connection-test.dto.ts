import { z } from 'zod';
import { countField, idField } from '../../platform/http/answer-fields.ts';

export const connectionTestBody = z
  .strictObject({
    model: z
      .string()
      .trim()
      .min(1)
      .max(256)
      .optional()
      .describe("The upstream's own name of a model; that of its first route when absent"),
    kind: z.enum(['chat', 'embedding']).optional(),
  })
  .default({});
export type ConnectionTestBody = z.output<typeof connectionTestBody>;

export const connectionTestSchema = z
  .object({
    upstream_id: idField,
    ok: z.boolean(),
    model: z.string(),
    status: z.int().nullable().describe('What the upstream answered; null: nothing'),
    duration_ms: countField,
    input_tokens: countField.nullable().describe('As the upstream reported; it may bill them'),
    output_tokens: countField.nullable(),
    error: z
      .object({
        kind: z.enum(['timeout', 'address_refused', 'unreachable', 'refused', 'unreadable']),
        message: z.string(),
      })
      .nullable(),
  })
  .meta({ id: 'ConnectionTest' });
export type ConnectionTest = z.output<typeof connectionTestSchema>;

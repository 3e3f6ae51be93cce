import { z } from 'zod';
import { idField } from '../../platform/http/answer-fields.ts';

const foundProblem = z.object({
  code: z.string(),
  severity: z.enum(['error', 'warning']),
  subject: z.object({ kind: z.string(), id: idField.nullable() }),
  message: z.string(),
});
export type FoundProblem = z.output<typeof foundProblem>;
export const configCheckSchema = z
  .object({
    ok: z.boolean().describe('No problem is an error'),
    version: idField.nullable(),
    checksum: z.string().describe('Of the current configuration in PostgreSQL'),
    published_checksum: z.string().nullable(),
    pinned_version: idField.nullable(),
    problems: z.array(foundProblem),
  })
  .meta({ id: 'ConfigCheck' });
export type ConfigCheckResult = z.output<typeof configCheckSchema>;

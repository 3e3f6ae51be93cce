import { z } from 'zod';

/** Lists every variable that the demo upstream reads. */
export const configSchema = z.object({
  HOST: z.string().default('127.0.0.1').describe('Address to listen on.'),
  PORT: z.coerce.number().int().min(0).max(65535).default(8790).describe('Port to listen on.'),
  RECORD_FILE: z
    .string()
    .optional()
    .describe('File that keeps the record of answered requests across a restart.'),
});

import { TOKEN_FIELDS } from '@tollgate/contracts';
import { z } from 'zod';

/** Describes `GET /record` of the demo upstream: `RecordEntry[]`. */
export const demoRecordSchema = z.array(
  z.object({
    rid: z.string(),
    protocol: z.enum(['chat', 'messages', 'embeddings', 'responses']),
    mode: z.string(),
    isDirected: z.boolean(),
    isStream: z.boolean(),
    emitted: z.number(),
    promptTokens: z.number(),
    reported: z
      .object({
        prompt: z.number(),
        output: z.number(),
        classes: z.partialRecord(z.enum(TOKEN_FIELDS), z.number()).optional(),
      })
      .nullable(),
    ending: z.enum(['open', 'finished', 'aborted', 'refused']),
  }),
);

export type DemoRecord = z.output<typeof demoRecordSchema>;

/** Returns what the demo upstream knows of all its requests. */
export async function readDemoRecord(upstreamUrl: string): Promise<DemoRecord> {
  return demoRecordSchema.parse(await (await fetch(`${upstreamUrl}/record`)).json());
}

import { z } from 'zod';

/** Holds the variables of each process that traces. */
export const TRACES_SETTINGS = {
  TRACES_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'Where traces go: OTLP over HTTP in JSON, e.g. http://collector:4318/v1/traces; unset = no traces.',
    ),
  TRACES_HEADERS: z
    .string()
    .transform(readHeaders)
    .optional()
    .describe('Headers sent with traces, comma-separated name=value pairs, as a collector asks.'),
  TRACES_RATIO: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(0.01)
    .describe('Share of requests that are traced; those that fail are traced in any case.'),
  TRACES_FOLLOW_CALLER: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true')
    .describe(
      'true: a request whose traceparent is sampled is traced as well, whatever the ratio; for callers that you trust.',
    ),
};

export type TracesSettings = Readonly<z.infer<z.ZodObject<typeof TRACES_SETTINGS>>>;

function readHeaders(text: string): Record<string, string> {
  const pairs = text
    .split(',')
    .filter((pair) => pair.includes('='))
    .map((pair): [string, string] => {
      const at = pair.indexOf('=');
      return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    });
  return Object.fromEntries(pairs);
}

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { answerWithin } from '@tollgate/tools';

const value = z.union([
  z.object({ stringValue: z.string() }).transform(({ stringValue }) => stringValue),
  z.object({ intValue: z.coerce.number() }).transform(({ intValue }) => intValue),
  z.object({ doubleValue: z.number() }).transform(({ doubleValue }) => doubleValue),
  z.object({ boolValue: z.boolean() }).transform(({ boolValue }) => boolValue),
]);
const attributes = z
  .array(z.object({ key: z.string(), value }))
  .default([])
  .transform((pairs) => Object.fromEntries(pairs.map((pair) => [pair.key, pair.value])));
const span = z.object({
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  spanId: z.string().regex(/^[0-9a-f]{16}$/),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.number(),
  startTimeUnixNano: z.coerce.bigint(),
  endTimeUnixNano: z.coerce.bigint(),
  attributes,
  status: z.object({ code: z.number().optional() }).default({}),
});
const request = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes }),
      scopeSpans: z.array(z.object({ spans: z.array(span) })),
    }),
  ),
});

export interface CollectedSpan extends z.output<typeof span> {
  /** Is `service.name` of the process that sent it. */
  service: unknown;
}

/** Is a collector of traces, which reads OTLP over HTTP in JSON (https://opentelemetry.io/docs/specs/otlp/#otlphttp) and refuses what it cannot read. */
export interface TraceCollector {
  /** Is the value of TRACES_URL. */
  url: string;
  spans: CollectedSpan[];
  /** Holds the texts of all requests, as they came. */
  texts: string[];
  /** Returns the headers of the last request. */
  headers: () => Record<string, unknown>;
  /** Returns the spans of a trace once there are all of these names. */
  spansOf: (traceId: string, names: readonly string[]) => Promise<CollectedSpan[]>;
  close: () => Promise<void>;
}

const WAIT_MS = 15_000;

export async function startTraceCollector(): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  const texts: string[] = [];
  let headers: Record<string, unknown> = {};
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      headers = incoming.headers;
      texts.push(text);
      const read = request.safeParse(JSON.parse(text));
      if (read.success) spans.push(...read.data.resourceSpans.flatMap(spansOfResource));
      response.writeHead(read.success ? 200 : 400, { 'content-type': 'application/json' });
      response.end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1/traces`,
    spans,
    texts,
    headers: () => headers,
    spansOf: async (traceId, names) => {
      const ofTrace = () => spans.filter((each) => each.traceId === traceId);
      const isWhole = (): boolean =>
        names.every((name) => ofTrace().some((each) => each.name === name));
      if (!(await answerWithin(WAIT_MS, isWhole)))
        throw new Error(
          `the trace has ${
            ofTrace()
              .map(({ name }) => name)
              .join(', ') || 'no span'
          }, not all of ${names.join(', ')}`,
        );
      return ofTrace();
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function spansOfResource({
  resource,
  scopeSpans,
}: z.output<typeof request>['resourceSpans'][number]): CollectedSpan[] {
  const service = resource.attributes['service.name'];
  return scopeSpans.flatMap((scope) => scope.spans.map((each) => ({ ...each, service })));
}

/** Lists the protocols that clients speak, one row each. libs/protocols defines how each is read and answered. */
export const CLIENT_PROTOCOL_ROWS = [
  { name: 'chat', path: '/v1/chat/completions', kind: 'chat', operation: 'chat' },
  { name: 'messages', path: '/v1/messages', kind: 'chat', operation: 'chat' },
  { name: 'embeddings', path: '/v1/embeddings', kind: 'embedding', operation: 'embeddings' },
  { name: 'responses', path: '/v1/responses', kind: 'chat', operation: 'chat' },
  { name: 'completions', path: '/v1/completions', kind: 'chat', operation: 'text_completion' },
  {
    name: 'generate',
    path: '/v1beta/models/{model}:generateContent',
    kind: 'chat',
    operation: 'generate_content',
  },
  {
    name: 'embed',
    path: '/v1beta/models/{model}:embedContent',
    kind: 'embedding',
    operation: 'embeddings',
  },
] as const satisfies readonly ClientProtocolRow[];

interface ClientProtocolRow {
  name: string;
  path: string;
  /** Is the kind of model that the protocol calls. */
  kind: 'chat' | 'embedding';
  /** Is the value of `gen_ai.operation.name` in OpenTelemetry: https://opentelemetry.io/docs/specs/semconv/gen-ai/ */
  operation: string;
}

export type ClientProtocol = (typeof CLIENT_PROTOCOL_ROWS)[number]['name'];
export const CLIENT_PROTOCOLS = CLIENT_PROTOCOL_ROWS.map(({ name }) => name);

const ROW_OF = new Map(CLIENT_PROTOCOL_ROWS.map((row) => [row.name as string, row]));

/** Returns whether requests of a protocol name their model in the path. */
export function hasModelInPath(protocol: ClientProtocol): boolean {
  return clientProtocol(protocol).path.includes('{model}');
}

/** Returns the row of a protocol. */
export function clientProtocol(protocol: ClientProtocol): ClientProtocolRow {
  const row = ROW_OF.get(protocol);
  if (!row) throw new Error(`no client protocol ${protocol}`);
  return row;
}

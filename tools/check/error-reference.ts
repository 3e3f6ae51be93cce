import { REFUSALS as ADMIN } from '../../apps/control-plane/src/platform/http/refusals.ts';
import { REFUSALS as PROXY, type RefusalRow } from '../../apps/proxy-node/src/refusals.ts';
import {
  CLIENT_ERRORS,
  upstreamClientError,
  type ClientErrorCode,
} from '../../libs/protocols/src/errors/client-error.ts';
import { NEUTRAL_MESSAGES, upstreamError } from '../../libs/protocols/src/errors/upstream-error.ts';
import { INVALID_REQUEST_CODES, type UpstreamError } from '../../libs/protocols/src/exchange.ts';

const HEAD = `# Error codes

Written by \`npm run generate\` from the tables the code refuses with; a test keeps both equal.

## Administration interface

Every failure is \`application/problem+json\` (RFC 9457): \`type\`, \`title\`, \`status\`, \`detail\`, \`code\`, \`errors\` (\`field\` and \`message\` for each wrong field) and \`request_id\`, which is also in \`x-request-id\`. Programs go by \`code\`.
A 429 or 503 has \`Retry-After\` where the moment is known.

| Code | Status | Meaning |
| --- | --- | --- |
`;

const PROXY_HEAD = `
## Proxy interface

Errors have the shape of the endpoint that was called, so that every SDK understands them: \`{"error": {"message", "type", "param", "code"}}\` at \`/v1/chat/completions\`, \`/v1/responses\`, \`/v1/embeddings\` and \`/v1/models\`, \`{"type": "error", "error": {"type", "message"}}\` at \`/v1/messages\`.
\`request_id\` stands beside \`error\`, and in \`x-request-id\` and \`request-id\`. \`x-should-retry\` is set where the status alone would mislead an SDK.

### All errors of the proxy interface

Named by the \`code\` of the OpenAI shape; the Anthropic shape has none, there \`type\` and the message tell. An upstream that rejects a request with a code of its own is quoted with that code.

| \`code\` | OpenAI shape: status, \`type\` | Anthropic shape: status, \`type\` | \`x-should-retry\` | Message or meaning |
| --- | --- | --- | --- | --- |
`;

interface WireError {
  error: ClientErrorCode;
  /** Is the code of the OpenAI shape; the default is the entry's own. */
  vendorCode?: string | null | undefined;
  text: string;
}

/** Returns the text of docs/errors.md. */
export function errorReference(): string {
  const admin = Object.entries(ADMIN).map(
    ([code, { status, title }]) => `| \`${code}\` | ${status} | ${title} |\n`,
  );
  const byWords = Object.groupBy(wireErrors(), wordsOf);
  const proxy = Object.entries(byWords).map(
    ([words, same = []]) =>
      `| ${words} | ${[...new Set(same.map(({ text }) => text))].join(' ')} |\n`,
  );
  return [HEAD, ...admin, PROXY_HEAD, ...proxy].join('');
}

/** Returns the errors that clients receive: refusals of a node, faults of a request, and failures of upstreams. */
function wireErrors(): WireError[] {
  return [
    ...Object.values(PROXY).map((row: RefusalRow) => ({
      error: row.error,
      vendorCode: row.vendorCode,
      text: typeof row.message === 'string' ? row.message : Object.values(row.message).join(' '),
    })),
    ...Object.entries(INVALID_REQUEST_CODES).map(([code, text]) => ({
      error: 'invalid_request' as const,
      vendorCode: code,
      text,
    })),
    ...(Object.keys(NEUTRAL_MESSAGES) as UpstreamError['kind'][]).map((kind) => {
      const { code, vendorCode, message } = upstreamClientError(upstreamError(kind), '');
      return { error: code, vendorCode, text: message };
    }),
  ];
}

function wordsOf({ error, vendorCode }: WireError): string {
  const entry: (typeof CLIENT_ERRORS)[ClientErrorCode] = CLIENT_ERRORS[error];
  const { openai, anthropic } = entry;
  const shouldRetry = 'shouldRetry' in entry ? `\`${entry.shouldRetry}\`` : '';
  return `\`${vendorCode ?? openai.code}\` | ${openai.status} \`${openai.type}\` | ${anthropic.status} \`${anthropic.type}\` | ${shouldRetry}`;
}

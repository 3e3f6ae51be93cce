import { REFUSALS as ADMIN } from '../../apps/control-plane/src/platform/http/refusals.ts';
import { REFUSALS as PROXY } from '../../apps/proxy-node/src/refusals.ts';
import { CLIENT_ERRORS } from '../../libs/protocols/src/errors/client-error.ts';

const HEAD = `# Error codes

Written by \`npm run generate\` from the tables the code refuses with; a test keeps both equal.

## Administration interface

Every failure is \`application/problem+json\` (RFC 9457): \`type\`, \`title\`, \`status\`, \`detail\`, \`code\`, \`errors\` (\`field\` and \`message\` for each wrong field) and \`request_id\`, which is also in \`x-request-id\`. Programs go by \`code\`.
A 429 or 503 that knows when to come back says so in \`Retry-After\`.

| Code | Status | Meaning |
| --- | --- | --- |
`;

const PROXY_HEAD = `
## Proxy interface

Errors have the shape of the endpoint that was called, so that every SDK understands them: \`{"error": {"message", "type", "param", "code"}}\` at \`/v1/chat/completions\`, \`/v1/responses\`, \`/v1/embeddings\` and \`/v1/models\`, \`{"type": "error", "error": {"type", "message"}}\` at \`/v1/messages\`.
\`request_id\` stands beside \`error\`, and in \`x-request-id\` and \`request-id\`. \`x-should-retry\` is set where the status alone would mislead an SDK.

### What the gateway refuses

| Refusal | OpenAI shape: status, \`type\`, \`code\` | Anthropic shape: status, \`type\` | Message |
| --- | --- | --- | --- |
`;

const ALL_HEAD = `
### All errors of the proxy interface

Those above, those of the request itself, and those of upstreams in the client's words.

| Error | OpenAI shape: status, \`type\`, \`code\` | Anthropic shape: status, \`type\` | \`x-should-retry\` |
| --- | --- | --- | --- |
`;

/** The text of docs/errors.md. */
export function errorReference(): string {
  const admin = Object.entries(ADMIN).map(([code, { status, title }]) => `| \`${code}\` | ${status} | ${title} |\n`);
  const proxy = Object.entries(PROXY).map(([code, refusal]) => `| \`${code}\` | ${wordsOf(refusal.error, 'vendorCode' in refusal ? refusal.vendorCode : undefined)} | ${refusal.message} |\n`);
  const all = Object.entries(CLIENT_ERRORS).map(([code, entry]) => `| \`${code}\` | ${wordsOf(code as keyof typeof CLIENT_ERRORS)} | ${'shouldRetry' in entry && entry.shouldRetry !== undefined ? `\`${entry.shouldRetry}\`` : ''} |\n`);
  return [HEAD, ...admin, PROXY_HEAD, ...proxy, ALL_HEAD, ...all].join('');
}

function wordsOf(code: keyof typeof CLIENT_ERRORS, vendorCode?: string): string {
  const { openai, anthropic } = CLIENT_ERRORS[code];
  return `${openai.status} \`${openai.type}\` \`${vendorCode ?? openai.code}\` | ${anthropic.status} \`${anthropic.type}\``;
}

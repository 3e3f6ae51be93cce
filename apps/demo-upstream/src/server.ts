import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { answer, wordsOf, type Dialect } from './answer.ts';
import { azureCall, azureDialect } from './clouds/azure.ts';
import { bedrockCall, type CloudCall } from './clouds/bedrock.ts';
import { chatDialect } from './chat-dialect.ts';
import { completionsDialect } from './completions-dialect.ts';
import { embeddingsAnswer, tokenArrayLength, vectorsOf } from './embeddings.ts';
import { geminiCall, geminiDialect, type GeminiCall } from './clouds/gemini.ts';
import type { VectorCall } from './clouds/google-vectors.ts';
import { contentOf, messageId, messagesDialect } from './messages-dialect.ts';
import { MODES, parseDemoRequest, planFor, type DemoRequest } from './plan.ts';
import { promptTokens } from './prompt-tokens.ts';
import { ProviderRecord } from './record.ts';
import { inputItems, messagesOf, ResponseStore } from './response-store.ts';
import { compact, respond, serveStored } from './responses-endpoint.ts';
import { isThreadRefusal, refusalOf, ThreadStore } from './thread-store.ts';
import { tokenCall } from './clouds/tokens.ts';
import { vertexCall } from './clouds/vertex.ts';

const BODY_BYTES_MAX = 64 * 1024 * 1024;

/**
 * A fake provider speaking both chat protocols, /responses with what it stores, embeddings, the same as Azure has it below /openai, Gemini's interface below /v1beta, Bedrock's below /model, Vertex AI's below /v1/projects and the token hosts of Google and Microsoft, with modes (plan.ts) and a record of what it reported.
 * `GET /record?rid=` lists it, `DELETE /record` forgets it, `GET /healthz` answers 200.
 */
export function createDemoUpstream(options: { recordFile?: string } = {}): {
  server: Server;
  record: ProviderRecord;
} {
  const record = new ProviderRecord(options.recordFile);
  const store = new ResponseStore(options.recordFile && `${options.recordFile}.responses`);
  const threads = new ThreadStore();
  const server = createServer((request, response) => {
    handle(request, response, { record, store, threads }).catch((error: unknown) => {
      process.stderr.write(`demo-upstream: ${String(error)}\n`);
      response.destroy();
    });
  });
  return { server, record };
}

/** Holds everything that the provider remembers. */
interface Books {
  record: ProviderRecord;
  store: ResponseStore;
  threads: ThreadStore;
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  { record, store, threads }: Books,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://demo');
  const azure = azureCall(request, url);
  if (azure?.refusal) return sendJson(response, azure.refusal.status, azure.refusal.body);
  const call = { request, response, record };
  const answered = cloudAnswer(call, url);
  if (answered) return answered;
  const path = azure?.path ?? url.pathname.replace(/^\/v1/, '');
  switch (`${request.method} ${path}`) {
    case 'POST /chat/completions':
      return complete({ ...call, protocol: 'chat', dialect: azure ? azureDialect : chatDialect });
    case 'POST /messages':
      return complete({ ...call, protocol: 'messages', dialect: messagesDialect, threads });
    case 'POST /completions':
      return complete({ ...call, protocol: 'completions', dialect: completionsDialect });
    case 'POST /responses':
      return startResponse(request, response, { record, store });
    case 'POST /responses/compact':
      return compactInput(request, response, { record, store });
    case 'POST /responses/input_tokens':
      return countInput(request, response, store);
    case 'POST /embeddings':
      return embed(call, OPENAI_VECTORS);
    case 'GET /record':
      return sendJson(response, 200, record.list(url.searchParams.get('rid') ?? undefined));
    case 'DELETE /record':
      record.clear();
      return void response.writeHead(204).end();
    case 'GET /healthz':
    case 'GET /readyz':
      return sendJson(response, 200, { status: 'ok' });
    default:
      return handleFurther(request, response, { path, store, query: url.searchParams });
  }
}

function modelOf(mode: string): object {
  return { id: `demo-${mode}`, object: 'model', created: 0, owned_by: 'demo' };
}

type Call = Pick<Completion, 'request' | 'response' | 'record'>;

/** Returns null for a path of no cloud with an interface of its own. */
function cloudAnswer(call: Call, url: URL): Promise<void> | null {
  const token = tokenCall(call.request, url);
  if (token) return answerToken(call, token);
  const gemini = geminiCall(call.request, url);
  if (gemini) return generate(call, gemini);
  const cloud = bedrockCall(call.request, url) ?? vertexCall(call.request, url);
  if (cloud && 'write' in cloud) return embed(call, cloud);
  return cloud && invoke(call, cloud);
}

async function answerToken(
  { request, response }: Call,
  answerTo: NonNullable<ReturnType<typeof tokenCall>>,
): Promise<void> {
  const { status, body } = await answerTo((await readText(request)) ?? '');
  sendJson(response, status, body);
}

async function generate(call: Call, gemini: GeminiCall): Promise<void> {
  if ('write' in gemini) return embed(call, gemini);
  if ('status' in gemini) return sendJson(call.response, gemini.status, gemini.refusal);
  return complete({ ...call, protocol: 'chat', dialect: geminiDialect, read: gemini.read });
}

/** The signature also covers the body. */
async function invoke(call: Call, { refusal, read, ...words }: CloudCall): Promise<void> {
  const body = (await readText(call.request)) ?? '';
  const refused = refusal(body);
  if (refused) return sendJson(call.response, refused.status, refused.body);
  return complete({ ...call, ...words, body, read: (text) => read(text ?? '') });
}

async function handleFurther(
  request: IncomingMessage,
  response: ServerResponse,
  { path, store, query }: { path: string; store: ResponseStore; query: URLSearchParams },
): Promise<void> {
  if (request.method === 'GET' && path === '/models')
    return sendJson(response, 200, { object: 'list', data: MODES.map(modelOf) });
  const body = request.method === 'POST' ? parseJson(await readText(request)) : undefined;
  if (serveStored(request, path, { response, store, body, query })) return;
  sendJson(response, 404, {
    error: { message: 'no such path', type: 'invalid_request_error', param: null, code: null },
  });
}

async function startResponse(
  request: IncomingMessage,
  response: ServerResponse,
  books: { record: ProviderRecord; store: ResponseStore },
): Promise<void> {
  const asked = await readRequest(request);
  if (!asked) return sendJson(response, 400, chatDialect.error(400, 'malformed request'));
  await respond(asked, {
    ...books,
    response,
    rid: headerText(request, 'x-request-id') ?? 'unknown',
    mode: headerText(request, 'x-demo-mode'),
    gone: goneSignal(response),
  });
}

async function compactInput(
  request: IncomingMessage,
  response: ServerResponse,
  books: { record: ProviderRecord; store: ResponseStore },
): Promise<void> {
  const asked = await readRequest(request);
  const rid = headerText(request, 'x-request-id') ?? 'unknown';
  if (!asked || !compact(asked, { ...books, response, rid }))
    sendJson(response, 400, chatDialect.error(400, 'malformed request'));
}

async function countInput(
  request: IncomingMessage,
  response: ServerResponse,
  store: ResponseStore,
): Promise<void> {
  const asked = await readRequest(request);
  const context = asked && store.contextOf(asked);
  if (!context) return sendJson(response, 400, chatDialect.error(400, 'malformed request'));
  const messages = messagesOf([...context, ...inputItems(asked)]);
  const input_tokens = promptTokens({ ...asked, input: undefined, messages });
  sendJson(response, 200, { object: 'response.input_tokens', input_tokens });
}

/** Returns a signal that aborts when the caller closes the connection. */
function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.on('close', () => response.writableFinished || gone.abort());
  return gone.signal;
}

interface Completion {
  request: IncomingMessage;
  response: ServerResponse;
  record: ProviderRecord;
  protocol: 'chat' | 'messages' | 'completions';
  dialect: Dialect;
  /** Holds the conversations that requests may continue. */
  threads?: ThreadStore;
  /** Is the body, when it was read before. */
  body?: string;
  read?: (text: string | undefined) => DemoRequest | undefined;
}

async function complete({
  request,
  response,
  record,
  protocol,
  dialect,
  threads,
  body,
  read = (text) => (text === undefined ? undefined : parseDemoRequest(text)),
}: Completion): Promise<void> {
  const sent = read(body ?? (await readText(request)));
  if (!sent) return sendJson(response, 400, dialect.error(400, 'malformed request'));
  const asked = threads?.wholeOf(sent) ?? sent;
  if (isThreadRefusal(asked)) return sendJson(response, asked.status, refusalOf(asked));
  const gone = goneSignal(response);
  const plan = planFor(asked, headerText(request, 'x-demo-mode'));
  const entry = record.open({
    rid: headerText(request, 'x-request-id') ?? 'unknown',
    protocol,
    mode: plan.mode,
    isDirected: plan.isDirected,
    isStream: asked.stream === true,
    ...{ emitted: 0, promptTokens: promptTokens(asked), reported: null },
    ending: 'open',
  });
  const { report } = dialect;
  await answer({ request: asked, plan, entry, record, response, gone, report }, dialect);
  if (entry.ending === 'finished')
    threads?.keep(messageId(entry), asked, contentOf({ plan, entry }, wordsOf(plan)));
}

type Vectors = Pick<VectorCall, 'read'> &
  Partial<Pick<CloudCall, 'refusal'> & Pick<VectorCall, 'write'>>;

const OPENAI_VECTORS: Vectors = {
  read: (text) => (text === undefined ? undefined : parseDemoRequest(text)),
};

async function embed(
  { request, response, record }: Call,
  { read, refusal, write }: Vectors,
): Promise<void> {
  const body = await readText(request);
  const refused = refusal?.(body ?? '');
  if (refused) return sendJson(response, refused.status, refused.body);
  const asked = read(body);
  if (!asked || asked.input === undefined)
    return sendJson(response, 400, chatDialect.error(400, 'malformed request'));
  const prompt = promptTokens(asked) + tokenArrayLength(asked.input);
  const entry = record.open({
    rid: headerText(request, 'x-request-id') ?? 'unknown',
    protocol: 'embeddings',
    mode: 'ok',
    isDirected: false,
    isStream: false,
    emitted: 0,
    promptTokens: prompt,
    reported: { prompt, output: 0 },
    ending: 'open',
  });
  record.close(entry, 'finished');
  const answered = write ? write(vectorsOf(asked.input), prompt) : embeddingsAnswer(asked, prompt);
  sendJson(response, 200, answered);
}

async function readRequest(request: IncomingMessage): Promise<DemoRequest | undefined> {
  const text = await readText(request);
  return text === undefined ? undefined : parseDemoRequest(text);
}

function parseJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

/** Returns nothing for a body that is too large. */
async function readText(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > BODY_BYTES_MAX) return undefined;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function headerText(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface FakeRefund {
  id: string;
  object: 'refund';
  amount: number;
  status: string;
  payment_intent: string;
  metadata: Record<string, string>;
}

/** Serves the calls of Stripe's API that the product uses, over HTTP, in Stripe's encoding. */
export class StripeServer {
  readonly refunds: FakeRefund[] = [];
  /** Is the outcome of a refund: done, refused permanently, or done without an answer. */
  refunding: 'succeeded' | 'refused' | 'failed' | 'unanswered' = 'succeeded';
  private readonly answered = new Map<string, FakeRefund>();
  readonly sessions: { id: string; form: URLSearchParams; authorization: string | undefined }[] =
    [];
  failWith: { status: number; body: object } | undefined;
  private readonly server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => {
        response.setHeader('content-type', 'application/json');
        if (this.failWith)
          return response.writeHead(this.failWith.status).end(JSON.stringify(this.failWith.body));
        const [path, query] = (request.url ?? '').split('?');
        if (path?.startsWith('/v1/refunds'))
          return this.refund(request, response, Buffer.concat(chunks).toString() || (query ?? ''));
        if (request.method === 'GET') {
          const session = path?.split('/').at(-1);
          return response.end(JSON.stringify({ id: session, payment_intent: `pi_${session}` }));
        }
        const id = `cs_test_${this.sessions.length + 1}`;
        this.sessions.push({
          id,
          form: new URLSearchParams(Buffer.concat(chunks).toString()),
          authorization: request.headers.authorization,
        });
        return response.end(
          JSON.stringify({ id, object: 'checkout.session', url: `https://checkout.example/${id}` }),
        );
      });
  });

  private refund(request: IncomingMessage, response: ServerResponse, text: string): void {
    const form = new URLSearchParams(text);
    const intent = form.get('payment_intent') ?? '';
    if (request.method === 'GET') {
      const data = this.refunds.filter(({ payment_intent: of }) => of === intent);
      return void response.end(JSON.stringify({ object: 'list', has_more: false, data }));
    }
    if (this.refunding === 'refused') {
      const error = { type: 'invalid_request_error', code: 'charge_already_refunded', message: '' };
      return void response.writeHead(400).end(JSON.stringify({ error }));
    }
    const key = request.headers['idempotency-key'] as string;
    const metadata = Object.fromEntries(
      [...form]
        .filter(([name]) => name.startsWith('metadata['))
        .map(([name, value]) => [name.slice('metadata['.length, -1), value]),
    );
    const made = this.answered.get(key) ?? {
      ...{ id: `re_${this.refunds.length + 1}`, object: 'refund' as const },
      ...{ amount: Number(form.get('amount')), payment_intent: intent, metadata },
      status: this.refunding === 'failed' ? 'failed' : 'succeeded',
    };
    if (!this.answered.has(key)) this.refunds.push(made);
    this.answered.set(key, made);
    if (this.refunding === 'unanswered') return void request.socket.destroy();
    response.end(JSON.stringify(made));
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

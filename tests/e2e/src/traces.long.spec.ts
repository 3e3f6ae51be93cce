import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  createCustomer,
  createRoutedModel,
  startTollgate,
  startTraceCollector,
  subscribeWithKey,
  type Tollgate,
  type TraceCollector,
} from '@tollgate/harness';

const TRACE = 'c'.repeat(32);
const CALLER = 'd'.repeat(16);
let collector: TraceCollector;
let tollgate: Tollgate;

beforeAll(async () => {
  collector = await startTraceCollector();
  tollgate = await startTollgate({ env: { TRACES_URL: collector.url, TRACES_RATIO: '1' } });
}, 120_000);
afterAll(async () => {
  await tollgate.stop();
  await collector.close();
});

test("one trace leads from the caller's span through the node, its upstream and the settlement to the booking in the control plane", async () => {
  const model = await createRoutedModel(tollgate);
  const customer = await createCustomer(tollgate);
  const key = await subscribeWithKey(customer, { modelIds: [model.id] });
  await tollgate.admin.syncAll();
  const response = await fetch(`${tollgate.nodeUrls[0]}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      traceparent: `00-${TRACE}-${CALLER}-01`,
    },
    body: JSON.stringify({
      model: model.name,
      stream: true,
      messages: [{ role: 'user', content: 'say hello' }],
    }),
  });
  await response.text();
  const root = 'POST /v1/chat/completions';
  const path = [root, 'authenticate', 'parse', 'admit', 'chat demo-ok', 'answer', 'journal'];
  const spans = await collector.spansOf(TRACE, [...path, 'settle', 'process usage', 'book']);
  const named = (name: string) => spans.find((span) => span.name === name);
  expect(named(root)).toMatchObject({ parentSpanId: CALLER, service: 'tollgate-proxy-node' });
  expect(named('process usage')).toMatchObject({
    parentSpanId: named(root)?.spanId,
    service: 'tollgate-control-plane',
    attributes: {
      'messaging.message.id': expect.any(String),
      'tollgate.request.id': response.headers.get('x-request-id'),
    },
  });
  expect(named('book')).toMatchObject({ parentSpanId: named('process usage')?.spanId });
  const order = ['admit', 'answer', 'journal', 'book'].map((name) => named(name));
  for (const [index, span] of order.slice(1).entries())
    expect(span?.startTimeUnixNano).toBeGreaterThanOrEqual(order[index]?.startTimeUnixNano ?? 0n);
});

test('a request of the administration interface is a trace of its own, and its log line names it', async () => {
  const trace = 'e'.repeat(32);
  await fetch(`${tollgate.adminUrl}/admin-api/models`, {
    headers: { traceparent: `00-${trace}-${CALLER}-01` },
  });
  const [span] = await collector.spansOf(trace, ['GET /admin-api/models']);
  expect(span).toMatchObject({ parentSpanId: CALLER, service: 'tollgate-control-plane' });
  expect(tollgate.logs('control-plane')).toContain(`"trace_id":"${trace}"`);
});

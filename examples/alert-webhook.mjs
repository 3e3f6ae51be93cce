import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

// Start the control plane with ALERT_WEBHOOK_URL=http://<this machine>:<port> and the same ALERT_WEBHOOK_SECRET.
const secret = process.env['ALERT_WEBHOOK_SECRET'];
if (!secret) throw new Error('Set ALERT_WEBHOOK_SECRET.');
const MAX_AGE_SECONDS = 300;

/** @param {string | undefined} header `t=<Unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<body>">`. @param {string} body */
function isSigned(header, body) {
  const [, seconds = '', signature = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header ?? '') ?? [];
  if (Math.abs(Date.now() / 1000 - Number(seconds)) > MAX_AGE_SECONDS) return false;
  const expected = createHmac('sha256', secret).update(`${seconds}.${body}`).digest();
  const given = Buffer.from(signature, 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** @param {import('node:http').IncomingMessage} request */
async function receive(request) {
  const body = await text(request);
  if (!isSigned(request.headers['x-tollgate-signature']?.toString(), body)) return 401;
  const { event, alert } = JSON.parse(body);
  console.log(`${event}: ${alert.severity} ${alert.rule}: ${alert.message}`);
  return 204;
}

const server = createServer((request, response) => {
  receive(request).then(
    (status) => response.writeHead(status).end(),
    () => response.writeHead(400).end(),
  );
});
server.listen(Number(process.env['PORT'] ?? 9099), '127.0.0.1', () => {
  console.log(`alerts at http://127.0.0.1:${server.address().port}`);
});

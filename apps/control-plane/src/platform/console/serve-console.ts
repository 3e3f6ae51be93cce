import type { NextFunction, Request, Response } from 'express';
import { etagOf, type ConsoleFile, type ConsoleFiles } from './console-files.ts';

/** Allows only what this origin serves, and no inline script or style. The interface keeps its own, stricter policy. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');
const BASE = '<base href="/" />';
/** Lists first segments that are never a page: an unknown address there stays an error in JSON. */
const NOT_PAGES = new Set(['admin-api', 'v1', 'api', 'internal', 'webhooks', 'healthz', 'readyz']);

/** Serves the console at `/`: its files, and its one page at every address that a browser asks for and nothing else answers. */
export function serveConsole({ page, files }: ConsoleFiles) {
  return (request: Request, response: Response, next: NextFunction): void => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return next();
    const segments = request.path.split('/').slice(1);
    const file = files.get(segments.join('/'));
    if (file) return sendFile(request, response, file);
    if (!isPage(request, segments)) return next();
    sendPage(request, response, page.replace(BASE, `<base href="${baseOf(segments)}" />`));
  };
}

function isPage(request: Request, segments: readonly string[]): boolean {
  const [first = '', last = ''] = [segments[0], segments.at(-1)];
  if (NOT_PAGES.has(first) || first === 'assets' || /\.\w+$/.test(last)) return false;
  // A client that takes anything, such as curl, gets the page at `/`. At other addresses it has mistaken the address of an interface, and gets an error.
  return request.accepts(first === '' ? ['html', 'json'] : ['json', 'html']) === 'html';
}

/** From the page's address back to where the console begins, whatever path a proxy in front has taken off. */
function baseOf(segments: readonly string[]): string {
  return segments.length <= 1 ? './' : '../'.repeat(segments.length - 1);
}

function sendPage(request: Request, response: Response, text: string): void {
  response.setHeader('content-security-policy', POLICY);
  response.setHeader('cache-control', 'no-cache');
  response.setHeader('vary', 'accept');
  response.setHeader('content-type', 'text/html; charset=utf-8');
  sendUnlessKnown(request, response, { etag: etagOf(text), content: Buffer.from(text) });
}

function sendFile(request: Request, response: Response, file: ConsoleFile): void {
  const [content, encoding] = pickVariant(request, file);
  response.setHeader('content-security-policy', POLICY);
  response.setHeader(
    'cache-control',
    file.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
  );
  response.setHeader('vary', 'accept-encoding');
  response.setHeader('content-type', file.type);
  if (encoding !== undefined) response.setHeader('content-encoding', encoding);
  sendUnlessKnown(request, response, { etag: file.etag, content });
}

function pickVariant(request: Request, file: ConsoleFile): [Buffer, string | undefined] {
  // Encodings are asked one by one: browsers name them all with equal weight, and brotli is the smallest.
  if (file.brotli && request.acceptsEncodings('br')) return [file.brotli, 'br'];
  if (file.gzip && request.acceptsEncodings('gzip')) return [file.gzip, 'gzip'];
  return [file.plain, undefined];
}

/** Compares weakly: one file has one tag in all its encodings. */
function sendUnlessKnown(
  request: Request,
  response: Response,
  { etag, content }: { etag: string; content: Buffer },
): void {
  response.setHeader('etag', `W/${etag}`);
  const known = (request.headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim());
  if (known.includes(`W/${etag}`)) return void response.status(304).end();
  response.setHeader('content-length', content.length);
  response.end(request.method === 'HEAD' ? undefined : content);
}

import type { UpstreamCall } from './upstream-call.ts';

/** The first `bytesMax` bytes of a body, or what came of it before it broke. */
export function collectBody(call: UpstreamCall, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const done = (): void => resolve(Buffer.concat(chunks).subarray(0, bytesMax));
    call.consume({
      data: (chunk) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes < bytesMax) return;
        call.abort('the error body is long enough');
        done();
      },
      end: done,
      failed: done,
    });
  });
}

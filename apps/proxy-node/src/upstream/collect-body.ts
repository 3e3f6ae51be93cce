import type { AnswerHead, UpstreamCall } from './upstream-call.ts';

/** Returns the first `bytesMax` bytes of a body, or what arrived before it broke. */
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

/** Returns the complete bytes of an answer. */
export function wholeBody(call: UpstreamCall): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    call.consume({
      data: (chunk) => void chunks.push(chunk),
      end: () => resolve(Buffer.concat(chunks)),
      failed: reject,
    });
  });
}

/** Rejects with UpstreamFailure. */
export function headOf(call: UpstreamCall): Promise<AnswerHead> {
  return new Promise((resolve, reject) =>
    call.headTo({ headArrived: resolve, headFailed: reject }),
  );
}

import type { AnswerHead, UpstreamCall } from './upstream-call.ts';

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

/** All of an answer that nothing is done with on the way. */
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

import { anchorOf } from '../src/continuation/anchor.ts';
import { judgeSeam } from '../src/continuation/seam.ts';

/** Returns the text that a client has after a continuation that comes in pieces of `size`; null where it gets the error of the cut. */
export function joinedBy(delivered: string, rest: string, size: number): string | null {
  const anchor = anchorOf(delivered);
  if (anchor === null) return null;
  for (let end = size; end < rest.length; end += size) {
    const seam = judgeSeam(anchor, rest.slice(0, end), false);
    if (seam.kind === 'false') return null;
    if (seam.kind === 'true') return delivered + rest.slice(seam.overlap);
  }
  const seam = judgeSeam(anchor, rest, true);
  return seam.kind === 'true' ? delivered + rest.slice(seam.overlap) : null;
}

/** Caches the answers of `compute`. Beyond `keptMax` entries the cache is emptied, so that a hostile writer of texts cannot fill the memory. */
export function remembered<Answer>(
  compute: (text: string) => Answer,
  keptMax: number,
): (text: string) => Answer {
  const kept = new Map<string, Answer>();
  return (text) => {
    const found = kept.get(text);
    if (found !== undefined || kept.has(text)) return found as Answer;
    const answer = compute(text);
    if (kept.size >= keptMax) kept.clear();
    kept.set(text, answer);
    return answer;
  };
}

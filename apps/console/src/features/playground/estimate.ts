const LETTERS_PER_TOKEN = 4;
/** Characters of Chinese, Japanese and Korean are about a token each. */
const WIDE = /[\u3000-\u9fff\uac00-\ud7af\uf900-\ufaff]/gu;

/** Returns about how many tokens a text is, for what is shown while the model's own count is still to come. */
export function estimateTokens(text: string): number {
  const wide = text.match(WIDE)?.length ?? 0;
  return wide + Math.ceil((text.length - wide) / LETTERS_PER_TOKEN);
}

/** Returns all text inside a content value: a string, or an array of parts with `text` or `content`. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return content.map(textOf).join('\n');
  if (typeof content === 'object' && content !== null) {
    const part = content as { text?: unknown; content?: unknown };
    return textOf(part.text ?? part.content);
  }
  return '';
}

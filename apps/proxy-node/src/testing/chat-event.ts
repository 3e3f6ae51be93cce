export const event = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'real', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

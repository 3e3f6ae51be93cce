/** Holds tokens by class, named as in events and usage rows; an absent class has none. */
export type ReportedClasses = Partial<Record<ReportedClass, number | undefined>>;
type ReportedClass = 'input_tokens' | 'output_tokens' | PromptClass | AnswerClass;
type PromptClass = (typeof CACHED | typeof SENT)[number] | 'cache_write_1h_tokens';
type AnswerClass = (typeof MADE)[number] | 'reasoning_tokens';

const CACHED = ['cache_read_tokens', 'cache_write_tokens'] as const;
const SENT = ['audio_input_tokens', 'image_input_tokens'] as const;
const MADE = ['audio_output_tokens', 'image_output_tokens'] as const;

/** Each further class has this fraction of its side of a report. */
const PART = 5;

interface Known {
  /** Each is a part of the prompt. */
  readonly prompt: readonly PromptClass[];
  /** Each is a part of the output; reasoning lies inside of what is left. */
  readonly answer: readonly AnswerClass[];
}

/** Lists by interface the classes that its reports have beside input and output. */
const REPORTS = {
  messages: { prompt: [...CACHED, 'cache_write_1h_tokens'], answer: ['reasoning_tokens'] },
  converse: { prompt: [...CACHED, 'cache_write_1h_tokens'], answer: [] },
  gemini: { prompt: ['cache_read_tokens', ...SENT], answer: ['reasoning_tokens', ...MADE] },
  chat: { prompt: [...CACHED, ...SENT], answer: ['reasoning_tokens', ...MADE] },
} as const satisfies Readonly<Record<string, Known>>;

/** Builds a report in which every class of its interface occurs; the plain classes have the rest. */
export function everyClass(
  report: string,
  { prompt, output }: { prompt: number; output: number },
): ReportedClasses {
  const { prompt: sent, answer: made }: Known = isKnown(report) ? REPORTS[report] : REPORTS.chat;
  const [read, heard] = [Math.floor(prompt / PART), Math.floor(output / PART)];
  const apart = made.filter((name) => name !== 'reasoning_tokens');
  return {
    ...Object.fromEntries(sent.map((name) => [name, read])),
    ...Object.fromEntries(made.map((name) => [name, heard])),
    input_tokens: prompt - sent.length * read,
    output_tokens: output - apart.length * heard,
  };
}

function isKnown(report: string): report is keyof typeof REPORTS {
  return Object.hasOwn(REPORTS, report);
}

/** Holds tokens by class, named as in events and usage rows; an absent class has none. */
export type ReportedClasses = Partial<Record<ReportedClass, number | undefined>>;
type ReportedClass =
  | 'input_tokens'
  | 'cache_read_tokens'
  | 'cache_write_tokens'
  | 'cache_write_1h_tokens'
  | 'audio_input_tokens'
  | 'image_input_tokens'
  | 'output_tokens'
  | 'reasoning_tokens'
  | 'audio_output_tokens'
  | 'image_output_tokens';

/** Each further class has this fraction of its side of a report. */
const PART = 5;

/** Builds a report in which every class of its protocol occurs; the plain classes have the rest. */
export function everyClass(
  protocol: string,
  { prompt, output }: { prompt: number; output: number },
): ReportedClasses {
  const [read, heard] = [Math.floor(prompt / PART), Math.floor(output / PART)];
  const cached = {
    cache_read_tokens: read,
    cache_write_tokens: read,
    reasoning_tokens: heard,
  };
  return protocol === 'messages'
    ? {
        ...cached,
        input_tokens: prompt - 3 * read,
        cache_write_1h_tokens: read,
        output_tokens: output,
      }
    : {
        ...cached,
        input_tokens: prompt - 4 * read,
        audio_input_tokens: read,
        image_input_tokens: read,
        output_tokens: output - 2 * heard,
        audio_output_tokens: heard,
        image_output_tokens: heard,
      };
}

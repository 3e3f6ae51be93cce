import { ArgumentCounter, type OutputCounts } from '@tollgate/metering';
import type { StoredResponse } from '@tollgate/protocols';

export type WholeCalls = Pick<StoredResponse, 'calls' | 'callArguments'>;

/** Counts the calls of tools in one answer, and their arguments: in a stream from its text, of a whole answer as it was read. */
export class CallCount {
  #calls = 0;
  readonly #streamed = new ArgumentCounter();
  #whole: WholeCalls['callArguments'] = () => 0;

  begin(): void {
    this.#calls += 1;
    this.#streamed.begin();
  }

  read(text: string): void {
    this.#streamed.read(text);
  }

  takeAll({ calls, callArguments }: WholeCalls): void {
    this.#calls += calls;
    this.#whole = callArguments;
  }

  counts(textTokens: number): OutputCounts {
    return { textTokens, calls: this.#calls, arguments: this.#streamed.count + this.#whole() };
  }
}

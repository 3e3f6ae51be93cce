const REDRAW_MS = 250;

/** Receives progress: the process' own output in use, a string in tests. */
export interface ProgressOutput {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write: (text: string) => unknown;
}

/** Shows the steps of a start as they happen. A terminal shows one line with what is in progress, redrawn in place; elsewhere each step is one plain line when it begins and one when it is done. */
export class Progress {
  readonly #output: ProgressOutput;
  readonly #now: () => number;
  readonly #running = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(output: ProgressOutput = process.stdout, now: () => number = Date.now) {
    this.#output = output;
    this.#now = now;
  }

  /** Runs one step; its result or error is the step's. Steps may run side by side. */
  async step<T>(name: string, work: () => Promise<T>): Promise<T> {
    const startedAtMs = this.#now();
    this.#begin(name, startedAtMs);
    try {
      const result = await work();
      this.#end(name, `ok    ${name}  (${seconds(this.#now() - startedAtMs)})`);
      return result;
    } catch (error) {
      this.#end(name, `FAIL  ${name}  (${seconds(this.#now() - startedAtMs)})`);
      throw error;
    }
  }

  /** Writes a line between the steps. */
  note(text: string): void {
    this.#erase();
    this.#output.write(`${text}\n`);
    this.#draw();
  }

  #begin(name: string, atMs: number): void {
    this.#running.set(name, atMs);
    if (!this.#output.isTTY) return void this.#output.write(`...   ${name}\n`);
    this.#draw();
    this.#timer ??= setInterval(() => this.#draw(), REDRAW_MS).unref();
  }

  #end(name: string, line: string): void {
    this.#running.delete(name);
    this.note(line);
    if (this.#running.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #draw(): void {
    if (!this.#output.isTTY || this.#running.size === 0) return;
    const parts = [...this.#running].map(
      ([name, atMs]) => `${name} ${seconds(this.#now() - atMs)}`,
    );
    const line = `...   ${parts.join(', ')}`.slice(0, (this.#output.columns ?? 80) - 1);
    this.#output.write(`\r\u001b[2K${line}`);
  }

  #erase(): void {
    if (this.#output.isTTY) this.#output.write('\r\u001b[2K');
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

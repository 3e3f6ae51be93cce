const WAIT_MAX_MS = 5_000;

/** Runs one task at a time; callers that ask for the same one share it. A task that waited too long is refused without its turn, because its caller has given up. */
export class OneByOne<Result> {
  private readonly asked = new Map<string, Promise<Result>>();
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly waitMaxMs = WAIT_MAX_MS) {}

  run(name: string, task: () => Promise<Result>): Promise<Result> {
    const running = this.asked.get(name);
    if (running) return running;
    const askedAt = performance.now();
    const result = this.last
      .then(() => {
        if (performance.now() - askedAt > this.waitMaxMs) throw waitedTooLong(name);
        return task();
      })
      .finally(() => this.asked.delete(name));
    this.asked.set(name, result);
    this.last = result.catch(() => undefined);
    return result;
  }
}

const waitedTooLong = (name: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`${name} waited too long to be looked up`), { code: 'EAI_AGAIN' });

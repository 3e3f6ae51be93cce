/** Work in steps that may be done at once, or with other work between them: a pass over 32 MB takes tens of milliseconds. */
export type Steps<T> = Generator<undefined, T>;

export type Pause = () => Promise<void>;

export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

export async function inTurns<T>(steps: Steps<T>, pause: Pause): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await pause();
  }
}

import { setTimeout as sleep } from 'node:timers/promises';

/** Repeats an assertion until it holds; the last failure is thrown when it never does. */
export async function eventually<T>(assertion: () => Promise<T>, withinMs = 15_000): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    try {
      return await assertion();
    } catch (error) {
      if (Date.now() >= deadline) throw error;
    }
    await sleep(10);
  }
}

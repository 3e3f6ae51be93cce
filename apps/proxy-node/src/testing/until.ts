/** Waits for what is promised to happen; throws when it does not within 10 s, or `withinMs`. */
export async function until(isTrue: () => Promise<boolean>, withinMs = 10_000): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await isTrue())) {
    if (Date.now() > deadline)
      throw new Error(`what was promised did not happen within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

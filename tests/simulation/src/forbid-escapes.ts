/** Lists time and chance that do not come from the scheduler. */
const ESCAPES: readonly [object, string][] = [
  [Date, 'now'],
  [Math, 'random'],
  [performance, 'now'],
  [globalThis, 'setTimeout'],
  [globalThis, 'setInterval'],
  [globalThis, 'setImmediate'],
];

/** Runs `work` while code that asks the machine for them fails; answers what was asked for. */
export async function forbidEscapes(work: () => Promise<void>): Promise<string[]> {
  const asked: string[] = [];
  const undo = ESCAPES.map(([holder, name]) => {
    const before: unknown = Reflect.get(holder, name);
    Reflect.set(holder, name, () => {
      asked.push(`${name}: ${new Error('escape').stack?.split('\n')[2]?.trim()}`);
      throw new Error(`${name} is not the scheduler's`);
    });
    return () => Reflect.set(holder, name, before);
  });
  try {
    await work();
  } finally {
    for (const act of undo) act();
  }
  return asked;
}
